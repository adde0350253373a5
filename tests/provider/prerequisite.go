package main

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"isthmus/tests/provider/raw"
)

// prerequisiteKind is the folder of what has to be there first: DIRECTORY/prerequisite/NAME.json, of any content.
const prerequisiteKind = "prerequisite"

// Reasons of a deferral, as numbers of the protocol: the framework has a type of the same values for each kind of object.
const (
	configUnknown      = 1
	absentPrerequisite = 3
	// strangeReason is none that anybody knows.
	strangeReason = 99
)

// waits tells what `wait_for` means for an operation: a reason to defer it, if the client allows that; else what is unknown is left
// to the caller, and what is absent is an error. Two names have their own effects: `regardless` defers although nobody allowed it,
// `strange` does so for a reason that does not exist.
func waits(objects *store, waitFor types.String, allowed bool, diagnostics *diag.Diagnostics) (reason int32) {
	switch {
	case waitFor.ValueString() == "regardless":
		return absentPrerequisite
	case waitFor.IsNull(), waitFor.IsUnknown() && !allowed:
		return 0
	case waitFor.IsUnknown():
		return configUnknown
	case waitFor.ValueString() == "strange" && allowed:
		return strangeReason
	}
	var content any
	found, err := objects.Read(prerequisiteKind, waitFor.ValueString(), &content)
	addError(diagnostics, "The prerequisite could not be looked up", err)
	if err != nil || found {
		return 0
	}
	if allowed {
		return absentPrerequisite
	}
	diagnostics.AddAttributeError(path.Root("wait_for"), "Absent prerequisite", fmt.Sprintf("There is no %s, without which this cannot be.", waitFor.ValueString()))
	return 0
}

const waitForDescription = "A file of this name has to be in the folder `prerequisite`; `regardless` and `strange` have their own effects."

// deferredResource answers that it has to wait: for what is unknown, or for a prerequisite that is absent.
type deferredResource struct {
	keeper
}

var (
	_ resource.ResourceWithConfigure   = (*deferredResource)(nil)
	_ resource.ResourceWithImportState = (*deferredResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*deferredResource)(nil)
)

func newDeferredResource() resource.Resource {
	return &deferredResource{keeper{kind: "deferred", schema: func(context.Context) schema.Schema {
		return schema.Schema{
			Description: "Waits for a prerequisite: in plans, reads and imports.",
			Attributes: keeperAttributes(map[string]schema.Attribute{
				"wait_for": schema.StringAttribute{Optional: true, Description: waitForDescription},
				"value":    schema.StringAttribute{Optional: true, Description: "Something to change."},
				"fresh":    schema.StringAttribute{Computed: true, Description: "Computed on every write."},
			}),
		}
	}}}
}

func (d *deferredResource) ModifyPlan(ctx context.Context, request resource.ModifyPlanRequest, response *resource.ModifyPlanResponse) {
	if request.Plan.Raw.IsNull() || d.cloud == nil {
		return
	}
	var waitFor types.String
	response.Diagnostics.Append(request.Plan.GetAttribute(ctx, path.Root("wait_for"), &waitFor)...)
	response.Deferred = deferredFor(waits(d.cloud.objects(), waitFor, request.ClientCapabilities.DeferralAllowed, &response.Diagnostics))
}

func (d *deferredResource) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	var waitFor types.String
	response.Diagnostics.Append(request.State.GetAttribute(ctx, path.Root("wait_for"), &waitFor)...)
	response.Deferred = deferredFor(waits(d.cloud.objects(), waitFor, request.ClientCapabilities.DeferralAllowed, &response.Diagnostics))
	if response.Deferred == nil && !response.Diagnostics.HasError() {
		d.keeper.Read(ctx, request, response)
	}
}

// ImportState looks up what the object waits for.
func (d *deferredResource) ImportState(ctx context.Context, request resource.ImportStateRequest, response *resource.ImportStateResponse) {
	d.keeper.ImportState(ctx, request, response)
	object, state, err := d.load(ctx, response.State)
	if err == nil && object == nil {
		err = fmt.Errorf("there is no object %s", request.ID)
	}
	if addError(&response.Diagnostics, "The object cannot be imported", err); err != nil {
		return
	}
	members, _ := raw.Members(state)
	waitFor := types.StringNull()
	if !members["wait_for"].IsNull() {
		waitFor = types.StringValue(raw.Text(members["wait_for"]))
	}
	response.Deferred = deferredFor(waits(d.cloud.objects(), waitFor, request.ClientCapabilities.DeferralAllowed, &response.Diagnostics))
}

func deferredFor(reason int32) *resource.Deferred {
	if reason == 0 {
		return nil
	}
	return &resource.Deferred{Reason: resource.DeferredReason(reason)}
}
