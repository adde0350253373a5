package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

// legacyTimed shows which timeouts reach it: the older SDK has a block for them, keeps them in private data, and holds each operation
// to its own.
func legacyTimed() *schema.Resource {
	keeper := &legacyKeeper{
		kind: "legacy_timed",
		schema: map[string]*schema.Schema{
			"value": {Type: schema.TypeString, Optional: true, Description: "Something to change."},
			"wait_in": {
				Type: schema.TypeString, Optional: true,
				Description: "The operation (`create`, `read`, `update`, `delete`) that waits for its timeout, and then fails.",
			},
			"granted": {Type: schema.TypeString, Computed: true, Description: "The last write and its timeout, as in `create 20m0s`."},
		},
	}
	granted := func(operation string, timeout time.Duration) func(*schema.ResourceData, *legacyKept) {
		return func(_ *schema.ResourceData, object *legacyKept) {
			object.State["granted"] = operation + " " + timeout.String()
			object.note(operation, timeout.String())
		}
	}
	return keeper.resource(&schema.Resource{
		Description: "Shows its timeouts, in the way of the older SDK.",
		Timeouts: &schema.ResourceTimeout{
			Create:  schema.DefaultTimeout(20 * time.Minute),
			Read:    schema.DefaultTimeout(5 * time.Minute),
			Update:  schema.DefaultTimeout(15 * time.Minute),
			Delete:  schema.DefaultTimeout(10 * time.Minute),
			Default: schema.DefaultTimeout(30 * time.Minute),
		},
		CustomizeDiff: func(_ context.Context, difference *schema.ResourceDiff, _ any) error {
			if difference.Id() != "" && difference.HasChange("value") {
				return difference.SetNewComputed("granted")
			}
			return nil
		},
		CreateContext: func(ctx context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
			timeout := data.Timeout(schema.TimeoutCreate)
			if failed := waitIn(ctx, data, "create"); failed != nil {
				return failed
			}
			timed := *keeper
			timed.finish = granted("create", timeout)
			return timed.create(ctx, data, meta)
		},
		ReadContext: func(ctx context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
			timeout := data.Timeout(schema.TimeoutRead)
			if failed := waitIn(ctx, data, "read"); failed != nil {
				return failed
			}
			var object legacyKept
			if found, err := storeOf(meta).Read(keeper.kind, data.Id(), &object); found && err == nil {
				object.note("read", timeout.String())
				if err := storeOf(meta).Write(keeper.kind, object.ID, object); err != nil {
					return diag.FromErr(err)
				}
			}
			return keeper.read(ctx, data, meta)
		},
		UpdateContext: func(ctx context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
			timeout := data.Timeout(schema.TimeoutUpdate)
			if failed := waitIn(ctx, data, "update"); failed != nil {
				return failed
			}
			timed := *keeper
			timed.finish = granted("update", timeout)
			return timed.update(ctx, data, meta)
		},
		DeleteContext: func(ctx context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
			timeout := data.Timeout(schema.TimeoutDelete)
			if failed := waitIn(ctx, data, "delete"); failed != nil {
				return failed
			}
			noted := storeOf(meta).Write(keeper.kind+"_deleted", data.Id(), map[string]string{"delete": timeout.String()})
			if noted != nil {
				return diag.FromErr(noted)
			}
			return keeper.delete(ctx, data, meta)
		},
	})
}

// waitIn waits for the end of the operation, if that is asked for; the SDK's context ends at its timeout.
func waitIn(ctx context.Context, data *schema.ResourceData, operation string) diag.Diagnostics {
	if asked, _ := data.Get("wait_in").(string); asked != operation {
		return nil
	}
	<-ctx.Done()
	if operation == "update" {
		data.Partial(true)
	}
	return diag.FromErr(fmt.Errorf("this %s waited for ever, as it was asked to; it ended by: %w", operation, ctx.Err()))
}
