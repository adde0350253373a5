package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

// legacyUnmarked is the mistake that many providers on the older SDK make: an update fails without data.Partial(true), and the SDK
// keeps what was planned as if it had come to be.
const legacyUnmarked trouble = "unmarked"

// legacyFlaky fails half-way when asked to (trouble.go), as the older SDK fails: a creation that failed has a state once it has an id,
// an update that failed keeps its former state if it is marked as partial.
func legacyFlaky() *schema.Resource {
	keeper := &legacyKeeper{
		kind: "legacy_flaky",
		schema: map[string]*schema.Schema{
			"parts": {
				Type: schema.TypeList, Optional: true, Elem: &schema.Schema{Type: schema.TypeString},
				Description: "What is written, one after the other.",
			},
			"trouble": {
				Type: schema.TypeMap, Optional: true, Elem: &schema.Schema{Type: schema.TypeString},
				Description: "What goes wrong, by operation; a file can ask for it, too.",
			},
			"written": {Type: schema.TypeInt, Computed: true, Description: "How many parts are written."},
		},
	}
	flaky := legacyFlakyResource{keeper}
	return keeper.resource(&schema.Resource{
		Description:   "Fails half-way when it is asked to, in the way of the older SDK.",
		CustomizeDiff: flaky.plan,
		CreateContext: flaky.create,
		ReadContext:   flaky.read,
		UpdateContext: flaky.update,
		DeleteContext: flaky.delete,
	})
}

type legacyFlakyResource struct {
	keeper *legacyKeeper
}

// plan makes the number of parts unknown where they change.
func (f legacyFlakyResource) plan(_ context.Context, difference *schema.ResourceDiff, _ any) error {
	if difference.Id() != "" && difference.HasChange("parts") {
		return difference.SetNewComputed("written")
	}
	return nil
}

func (f legacyFlakyResource) create(ctx context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
	asked, failed := f.trouble(ctx, "create", data, meta)
	if failed.HasError() {
		return failed
	}
	switch asked {
	case troubleError, troubleWait:
		return diag.Errorf("the creation failed, as was asked for; nothing was created")
	case troubleForget:
		// The SDK takes a creation without an id for one that came to nothing, and says nothing.
		return nil
	}
	if failed := f.writing(asked).create(ctx, data, meta); failed.HasError() {
		return failed
	}
	if asked == troubleVanish {
		return f.keeper.delete(ctx, data, meta)
	}
	return failedAfter(asked, "creation")
}

func (f legacyFlakyResource) read(ctx context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
	asked, failed := f.trouble(ctx, "read", data, meta)
	if failed.HasError() {
		return failed
	}
	switch asked {
	case troubleError, troubleWait:
		return diag.Errorf("the read failed, as was asked for")
	case troubleVanish:
		if failed := f.keeper.delete(ctx, data, meta); failed.HasError() {
			return failed
		}
	case troubleForget:
		data.SetId("")
		return nil
	}
	return append(f.keeper.read(ctx, data, meta), failedAfter(asked, "read")...)
}

func (f legacyFlakyResource) update(ctx context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
	asked, failed := f.trouble(ctx, "update", data, meta)
	if failed.HasError() {
		data.Partial(true)
		return failed
	}
	switch asked {
	case troubleError, troubleWait:
		data.Partial(true)
		return diag.Errorf("the update failed, as was asked for; nothing was updated")
	case legacyUnmarked:
		return diag.Errorf("the update failed, as was asked for; nothing was updated, and the state does not say so")
	case troubleVanish:
		if failed := f.keeper.delete(ctx, data, meta); failed.HasError() {
			return failed
		}
	}
	if failed := f.writing(asked).update(ctx, data, meta); failed.HasError() {
		return failed
	}
	if asked == troubleForget {
		data.SetId("")
	}
	failed = failedAfter(asked, "update")
	data.Partial(failed.HasError())
	return failed
}

func (f legacyFlakyResource) delete(ctx context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
	asked, failed := f.trouble(ctx, "delete", data, meta)
	if failed.HasError() {
		return failed
	}
	switch asked {
	case troubleError, troubleWait:
		return diag.Errorf("the deletion failed, as was asked for; nothing was deleted")
	case troubleHalf, troubleWaitHalf:
		if failed := f.writing(asked).update(ctx, data, meta); failed.HasError() {
			return failed
		}
		return failedAfter(asked, "deletion")
	}
	return append(f.keeper.delete(ctx, data, meta), failedAfter(asked, "deletion")...)
}

// writing is a keeper that writes all parts, or half of them.
func (f legacyFlakyResource) writing(asked trouble) *legacyKeeper {
	writing := *f.keeper
	writing.finish = func(_ *schema.ResourceData, object *legacyKept) {
		parts, _ := object.State["parts"].([]any)
		if asked == troubleHalf || asked == troubleWaitHalf {
			parts = parts[:len(parts)/2]
		}
		object.State["parts"] = parts
		object.State["written"] = len(parts)
	}
	return &writing
}

func (f legacyFlakyResource) trouble(ctx context.Context, operation string, data *schema.ResourceData, meta any) (trouble, diag.Diagnostics) {
	name, _ := data.Get("name").(string)
	own := map[string]string{}
	if configured, ok := data.Get("trouble").(map[string]any); ok {
		for operation, text := range configured {
			own[operation], _ = text.(string)
		}
	}
	asked, err := storeOf(meta).troubleOf(ctx, name, operation, own)
	return asked, diag.FromErr(err)
}

// failedAfter fails or warns, where that was asked for, after something has been done.
func failedAfter(asked trouble, what string) diag.Diagnostics {
	switch asked {
	case troubleHalf, troubleWaitHalf:
		return diag.Errorf("the %s failed, as was asked for; half of it was done", what)
	case troubleWhole:
		return diag.Errorf("the %s failed, as was asked for; all of it was done", what)
	case troubleWarn:
		return diag.Diagnostics{{Severity: diag.Warning, Summary: "Doubtful " + what, Detail: "This was asked for."}}
	default:
		return nil
	}
}
