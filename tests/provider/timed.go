package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// timedResource shows which timeouts reach it, as the framework's providers take them: from a block or from an attribute `timeouts`.
type timedResource struct {
	keeper
}

var (
	_ resource.ResourceWithConfigure   = (*timedResource)(nil)
	_ resource.ResourceWithImportState = (*timedResource)(nil)
)

// timedDefaults hold where the configuration sets none; no two are alike.
var timedDefaults = map[string]time.Duration{
	"create": 20 * time.Minute, "read": 5 * time.Minute, "update": 15 * time.Minute, "delete": 10 * time.Minute,
}

func newTimedResource(shape string) resource.Resource {
	return &timedResource{keeper{kind: "timed_" + shape, unseen: []string{"timeouts"}, schema: func(ctx context.Context) schema.Schema {
		timed := schema.Schema{
			Description: "Shows its timeouts, which are set by a " + shape + ".",
			Attributes: keeperAttributes(map[string]schema.Attribute{
				"value": schema.StringAttribute{Optional: true, Description: "Something to change."},
				"wait_in": schema.StringAttribute{
					Optional:    true,
					Description: "The operation (`create`, `read`, `update`, `delete`) that waits for its timeout, and then fails.",
				},
				"granted": schema.StringAttribute{Computed: true, Description: "The last write and its timeout, as in `create 20m0s`."},
			}),
		}
		if shape == "block" {
			timed.Blocks = map[string]schema.Block{"timeouts": timeouts.BlockAll(ctx)}
		} else {
			timed.Attributes["timeouts"] = timeouts.AttributesAll(ctx)
		}
		return timed
	}}}
}

// attributeValues is what both a plan and a state can be asked for.
type attributeValues interface {
	GetAttribute(ctx context.Context, path path.Path, target any) diag.Diagnostics
}

func (t *timedResource) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	granted := t.grant(ctx, "create", request.Plan, &response.Diagnostics)
	if !response.Diagnostics.HasError() {
		t.create(ctx, request, response, grantedIn("create", granted))
	}
}

// Read notes its timeout in the object's file, where one is.
func (t *timedResource) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	granted := t.grant(ctx, "read", request.State, &response.Diagnostics)
	object, _, err := t.load(ctx, request.State)
	if err == nil && object != nil {
		object.note("read", granted.String())
		err = t.cloud.objects().Write(t.kind, object.ID, object)
	}
	addError(&response.Diagnostics, "The timeout could not be noted", err)
	if !response.Diagnostics.HasError() {
		t.keeper.Read(ctx, request, response)
	}
}

func (t *timedResource) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	granted := t.grant(ctx, "update", request.Plan, &response.Diagnostics)
	if !response.Diagnostics.HasError() {
		t.update(ctx, request, response, grantedIn("update", granted))
	}
}

// Delete notes its timeout in DIRECTORY/timed_SHAPE_deleted/ID.json.
func (t *timedResource) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	granted := t.grant(ctx, "delete", request.State, &response.Diagnostics)
	if response.Diagnostics.HasError() {
		return
	}
	t.keeper.Delete(ctx, request, response)
	err := t.cloud.objects().Write(t.kind+"_deleted", idIn(request.State.Raw), map[string]string{"delete": granted.String()})
	addError(&response.Diagnostics, "The timeout could not be noted", err)
}

// grant is the timeout of an operation, after waiting for it where that is asked for.
func (t *timedResource) grant(ctx context.Context, operation string, values attributeValues, diagnostics *diag.Diagnostics) time.Duration {
	var configured timeouts.Value
	var waitIn types.String
	diagnostics.Append(values.GetAttribute(ctx, path.Root("timeouts"), &configured)...)
	diagnostics.Append(values.GetAttribute(ctx, path.Root("wait_in"), &waitIn)...)
	timeoutOf := map[string]func(context.Context, time.Duration) (time.Duration, diag.Diagnostics){
		"create": configured.Create, "read": configured.Read, "update": configured.Update, "delete": configured.Delete,
	}
	granted, found := timeoutOf[operation](ctx, timedDefaults[operation])
	diagnostics.Append(found...)
	if waitIn.ValueString() != operation || diagnostics.HasError() {
		return granted
	}
	ctx, cancel := context.WithTimeout(ctx, granted)
	defer cancel()
	<-ctx.Done()
	diagnostics.AddError("Timeout", fmt.Sprintf("This %s waited for ever, as it was asked to; it was given %s, and ended by: %s.", operation, granted, ctx.Err()))
	return granted
}

func grantedIn(operation string, granted time.Duration) finish {
	return func(object *keptObject, members map[string]tftypes.Value) {
		object.note(operation, granted.String())
		members["granted"] = tftypes.NewValue(tftypes.String, operation+" "+granted.String())
	}
}
