package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"isthmus/tests/provider/raw"
)

// flakyResource fails half-way when asked to (trouble.go): half of its parts are written then, its state and its private data say so,
// and an error comes along. The next attempt finds both, or fails.
type flakyResource struct {
	keeper
}

var (
	_ resource.ResourceWithConfigure   = (*flakyResource)(nil)
	_ resource.ResourceWithImportState = (*flakyResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*flakyResource)(nil)
)

// flakyPrivate is what travels in private data.
type flakyPrivate struct {
	// Attempts counts writes and deletions, also those that failed after they had changed something.
	Attempts int64 `json:"attempts"`

	// Last is what the last of them was, and how it failed.
	Last string `json:"last"`
}

const flakyPrivateKey = "flaky"

func newFlakyResource() resource.Resource {
	return &flakyResource{keeper{kind: "flaky", schema: func(context.Context) schema.Schema {
		return schema.Schema{
			Description: "Fails half-way when it is asked to.",
			Attributes: keeperAttributes(map[string]schema.Attribute{
				"parts": schema.ListAttribute{
					Optional: true, ElementType: types.StringType, Description: "What is written, one after the other.",
				},
				"trouble": schema.MapAttribute{
					Optional: true, ElementType: types.StringType,
					Description: "What goes wrong, by operation; a file can ask for it, too.",
				},
				"written": schema.Int64Attribute{Computed: true, Description: "How many parts are written."},
				"fresh":   schema.StringAttribute{Computed: true, Description: "Computed on every write."},
			}),
		}
	}}}
}

// ModifyPlan fails or warns when asked to.
func (f *flakyResource) ModifyPlan(ctx context.Context, request resource.ModifyPlanRequest, response *resource.ModifyPlanResponse) {
	if f.cloud == nil {
		return
	}
	subject := request.Plan.Raw
	if subject.IsNull() {
		subject = request.State.Raw
	}
	switch f.trouble(ctx, "plan", subject, &response.Diagnostics) {
	case troubleError:
		response.Diagnostics.AddAttributeError(path.Root("parts"), "Plan refused", "This was asked for.")
	case troubleWarn:
		response.Diagnostics.AddAttributeWarning(path.Root("parts"), "Plan doubtful", "This was asked for.")
	}
}

func (f *flakyResource) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	asked := f.trouble(ctx, "create", request.Plan.Raw, &response.Diagnostics)
	if asked == troubleError || asked == troubleWait {
		failFlaky(&response.Diagnostics, "Creation failed", "nothing was created")
	}
	if response.Diagnostics.HasError() {
		return
	}
	private := flakyPrivate{Attempts: 1, Last: "create " + string(asked)}
	f.create(ctx, request, response, f.finish(asked, private))
	response.Diagnostics.Append(private.keep(ctx, response.Private)...)
	if asked == troubleVanish {
		addError(&response.Diagnostics, "The object could not be removed", f.cloud.objects().Remove(f.kind, idIn(response.State.Raw)))
	}
	if asked == troubleForget {
		response.State.RemoveResource(ctx)
	}
	failAfter(&response.Diagnostics, asked, "Creation incomplete")
}

func (f *flakyResource) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	private := f.remember(ctx, request.Private, &response.Diagnostics)
	asked := f.trouble(ctx, "read", request.State.Raw, &response.Diagnostics)
	if asked == troubleError || asked == troubleWait {
		failFlaky(&response.Diagnostics, "Read failed", "nothing was read")
	}
	if response.Diagnostics.HasError() {
		return
	}
	switch asked {
	case troubleVanish:
		addError(&response.Diagnostics, "The object could not be removed", f.cloud.objects().Remove(f.kind, idIn(request.State.Raw)))
	case troubleWarn:
		response.Diagnostics.AddAttributeWarning(path.Root("parts"), "Read doubtful", "This was asked for.")
	}
	f.keeper.Read(ctx, request, response)
	response.Diagnostics.Append(private.keep(ctx, response.Private)...)
}

func (f *flakyResource) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	private := f.remember(ctx, request.Private, &response.Diagnostics)
	asked := f.trouble(ctx, "update", request.Plan.Raw, &response.Diagnostics)
	if asked == troubleError || asked == troubleWait {
		failFlaky(&response.Diagnostics, "Update failed", "nothing was updated")
	}
	if asked == troubleVanish {
		addError(&response.Diagnostics, "The object could not be removed", f.cloud.objects().Remove(f.kind, idIn(request.State.Raw)))
	}
	if response.Diagnostics.HasError() {
		return
	}
	private.Attempts++
	private.Last = "update " + string(asked)
	f.update(ctx, request, response, f.finish(asked, private))
	if response.Diagnostics.HasError() {
		return
	}
	response.Diagnostics.Append(private.keep(ctx, response.Private)...)
	if asked == troubleForget {
		response.State.RemoveResource(ctx)
	}
	failAfter(&response.Diagnostics, asked, "Update incomplete")
}

// Delete notes in DIRECTORY/flaky_deleted/ID.json what came with the call that succeeded. It puts up with the loss of private data,
// because Terraform sends none when it replaces what is tainted.
func (f *flakyResource) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	var private flakyPrivate
	content, _ := request.Private.GetKey(ctx, flakyPrivateKey)
	if content != nil {
		private = f.remember(ctx, request.Private, &response.Diagnostics)
	}
	asked := f.trouble(ctx, "delete", request.State.Raw, &response.Diagnostics)
	if asked == troubleError || asked == troubleWait {
		failFlaky(&response.Diagnostics, "Deletion failed", "nothing was deleted")
	}
	if response.Diagnostics.HasError() {
		return
	}
	if asked == troubleHalf || asked == troubleWaitHalf {
		private.Attempts++
		private.Last = "delete " + string(asked)
		object, _, err := f.load(ctx, request.State)
		if err == nil && object != nil {
			response.State.Raw, err = object.take(request.State.Raw, f.finish(asked, private))
			if err == nil {
				err = f.cloud.objects().Write(f.kind, object.ID, object)
			}
		}
		addError(&response.Diagnostics, "The object could not be deleted", err)
		response.Diagnostics.Append(private.keep(ctx, response.Private)...)
		failAfter(&response.Diagnostics, asked, "Deletion incomplete")
		return
	}

	f.keeper.Delete(ctx, request, response)
	members, _ := raw.Members(request.State.Raw)
	parts, err := raw.ToJSON(members["parts"].Type(), members["parts"])
	if err == nil {
		err = f.cloud.objects().Write(f.kind+"_deleted", idIn(request.State.Raw), map[string]any{
			"private": json.RawMessage(content), "parts": parts,
		})
	}
	addError(&response.Diagnostics, "The deletion could not be noted", err)
	if asked == troubleWhole {
		response.State.RemoveResource(ctx)
		failAfter(&response.Diagnostics, asked, "Deletion incomplete")
	}
}

func (f *flakyResource) ImportState(ctx context.Context, request resource.ImportStateRequest, response *resource.ImportStateResponse) {
	f.keeper.ImportState(ctx, request, response)
	response.Diagnostics.Append(flakyPrivate{Last: "import"}.keep(ctx, response.Private)...)
}

// finish writes all parts, or half of them.
func (f *flakyResource) finish(asked trouble, private flakyPrivate) finish {
	return func(object *keptObject, members map[string]tftypes.Value) {
		object.note("private", private)
		parts, _ := raw.Elements(members["parts"])
		if asked == troubleHalf || asked == troubleWaitHalf {
			parts = parts[:len(parts)/2]
			members["parts"] = tftypes.NewValue(members["parts"].Type(), parts)
		}
		members["written"] = tftypes.NewValue(tftypes.Number, int64(len(parts)))
	}
}

func (f *flakyResource) trouble(ctx context.Context, operation string, value tftypes.Value, diagnostics *diag.Diagnostics) trouble {
	members, _ := raw.Members(value)
	asked, err := f.cloud.objects().troubleOf(ctx, raw.Text(members["name"]), operation, ownTroubles(value))
	addError(diagnostics, "No such trouble", err)
	return asked
}

// remember reads private data, which every call after the first has to have.
func (f *flakyResource) remember(ctx context.Context, private privateState, diagnostics *diag.Diagnostics) flakyPrivate {
	var kept flakyPrivate
	content, found := private.GetKey(ctx, flakyPrivateKey)
	diagnostics.Append(found...)
	if content == nil {
		diagnostics.AddError(privateLost, "The private state of an earlier call did not come back with this one.")
		return kept
	}
	addError(diagnostics, privateLost, json.Unmarshal(content, &kept))
	return kept
}

func (p flakyPrivate) keep(ctx context.Context, private privateWriter) diag.Diagnostics {
	return private.SetKey(ctx, flakyPrivateKey, encodePrivate(p))
}

func failFlaky(diagnostics *diag.Diagnostics, summary, what string) {
	diagnostics.AddAttributeError(path.Root("parts"), summary, fmt.Sprintf("This was asked for; %s.", what))
}

// failAfter fails, where that was asked for, after something has been done.
func failAfter(diagnostics *diag.Diagnostics, asked trouble, summary string) {
	switch asked {
	case troubleHalf, troubleWaitHalf:
		failFlaky(diagnostics, summary, "half of it was done")
	case troubleWhole:
		failFlaky(diagnostics, summary, "all of it was done")
	case troubleWarn:
		diagnostics.AddAttributeWarning(path.Root("parts"), "Doubtful", "This was asked for.")
	}
}
