package main

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// diaryResource reads and writes private data in every call that has any, plans included, and fails where it is lost. What it has
// counted is in its file, and after a deletion in DIRECTORY/diary_deleted/ID.json.
type diaryResource struct {
	keeper
}

var (
	_ resource.ResourceWithConfigure   = (*diaryResource)(nil)
	_ resource.ResourceWithImportState = (*diaryResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*diaryResource)(nil)
)

// diary counts the calls that private data went through. Of plans, those count that led to something: private data of any other plan
// is not used.
type diary map[string]int64

const diaryKey = "diary"

func newDiaryResource() resource.Resource {
	return &diaryResource{keeper{kind: "diary", schema: func(context.Context) schema.Schema {
		return schema.Schema{
			Description: "Private data, read and written in every call.",
			Attributes: keeperAttributes(map[string]schema.Attribute{
				"value": schema.StringAttribute{Optional: true, Description: "Something to change."},
				"fresh": schema.StringAttribute{Computed: true, Description: "Computed on every write."},
			}),
		}
	}}}
}

// ModifyPlan counts in planned private data.
func (d *diaryResource) ModifyPlan(ctx context.Context, request resource.ModifyPlanRequest, response *resource.ModifyPlanResponse) {
	counted := diary{}
	if !request.State.Raw.IsNull() {
		counted = recall(ctx, request.Private, &response.Diagnostics)
	}
	counted.count(ctx, "plan", response.Private, &response.Diagnostics)
}

// Create begins a new diary: the framework does not show a creation the private data of its plan.
func (d *diaryResource) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	counted := diary{}
	counted.count(ctx, "create", response.Private, &response.Diagnostics)
	d.create(ctx, request, response, counted.finish)
}

func (d *diaryResource) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	counted := recall(ctx, request.Private, &response.Diagnostics)
	object, _, err := d.load(ctx, request.State)
	if addError(&response.Diagnostics, "The object could not be read", err); response.Diagnostics.HasError() {
		return
	}
	counted.count(ctx, "read", response.Private, &response.Diagnostics)
	if object != nil {
		object.note(diaryKey, counted)
		addError(&response.Diagnostics, "The diary could not be written", d.cloud.objects().Write(d.kind, object.ID, object))
	}
	d.keeper.Read(ctx, request, response)
}

func (d *diaryResource) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	counted := recall(ctx, request.Private, &response.Diagnostics)
	if response.Diagnostics.HasError() {
		return
	}
	counted.count(ctx, "update", response.Private, &response.Diagnostics)
	d.update(ctx, request, response, counted.finish)
}

func (d *diaryResource) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	counted := recall(ctx, request.Private, &response.Diagnostics)
	if response.Diagnostics.HasError() {
		return
	}
	counted["delete"]++
	d.keeper.Delete(ctx, request, response)
	addError(&response.Diagnostics, "The diary could not be written", d.cloud.objects().Write(d.kind+"_deleted", idIn(request.State.Raw), counted))
}

func (d *diaryResource) ImportState(ctx context.Context, request resource.ImportStateRequest, response *resource.ImportStateResponse) {
	d.keeper.ImportState(ctx, request, response)
	diary{}.count(ctx, "import", response.Private, &response.Diagnostics)
}

func recall(ctx context.Context, private privateState, diagnostics *diag.Diagnostics) diary {
	counted := diary{}
	content, found := private.GetKey(ctx, diaryKey)
	diagnostics.Append(found...)
	if content == nil {
		diagnostics.AddError(privateLost, "The private state of an earlier call did not come back with this one.")
		return counted
	}
	addError(diagnostics, privateLost, json.Unmarshal(content, &counted))
	return counted
}

func (d diary) count(ctx context.Context, operation string, private privateWriter, diagnostics *diag.Diagnostics) {
	d[operation]++
	diagnostics.Append(private.SetKey(ctx, diaryKey, encodePrivate(d))...)
}

func (d diary) finish(object *keptObject, _ map[string]tftypes.Value) {
	object.note(diaryKey, d)
}
