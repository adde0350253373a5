package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// movableResource takes over the states of other types, and of its own type from another provider. The object stays where it is: what
// was taken over keeps its folder.
type movableResource struct {
	keeper
}

var (
	_ resource.ResourceWithConfigure   = (*movableResource)(nil)
	_ resource.ResourceWithImportState = (*movableResource)(nil)
	_ resource.ResourceWithMoveState   = (*movableResource)(nil)
)

const (
	movableKind = "movable"
	movableType = "conformance_movable"

	// movedKey is private data that only a move sets.
	movedKey = "moved"
)

type movableModel struct {
	ID       types.String `tfsdk:"id"`
	Name     types.String `tfsdk:"name"`
	Title    types.String `tfsdk:"title"`
	KeptIn   types.String `tfsdk:"kept_in"`
	CameFrom types.String `tfsdk:"came_from"`
}

func newMovableResource() resource.Resource {
	return &movableResource{keeper{kind: movableKind, schema: movableSchema}}
}

func movableSchema(context.Context) schema.Schema {
	kept := func(description string) schema.Attribute {
		return schema.StringAttribute{
			Computed: true, Description: description, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		}
	}
	return schema.Schema{
		Description: "Takes over what was of another type, or of another provider.",
		Attributes: keeperAttributes(map[string]schema.Attribute{
			"title":     schema.StringAttribute{Optional: true, Description: "A text, that all its sources have."},
			"kept_in":   kept("Kind of the object, which is that of the resource that made it."),
			"came_from": kept("What was taken over: type, provider and version of the schema."),
		}),
	}
}

// movableSources are the types whose states are taken over, with the folders of their objects. An older SDK's state has empty texts
// for nulls.
var movableSources = map[string]string{
	"conformance_record":    recordKind,
	"conformance_legacy":    legacyKind,
	"conformance_versioned": versionedKind,
}

// MoveState has three movers, which the framework asks one after the other: a source with a schema, sources that are read raw, and
// this very type from another provider, which calls the title `label`. A name that starts with `refuse` is refused.
func (m *movableResource) MoveState(context.Context) []resource.StateMover {
	schemaOfRecent := versionedSchema(newestVersion)
	return []resource.StateMover{
		{
			SourceSchema: &schemaOfRecent,
			StateMover: func(ctx context.Context, request resource.MoveStateRequest, response *resource.MoveStateResponse) {
				if request.SourceTypeName != "conformance_versioned" || request.SourceSchemaVersion != newestVersion || request.SourceState == nil {
					return
				}
				var id, name, title types.String
				response.Diagnostics.Append(request.SourceState.GetAttribute(ctx, path.Root("id"), &id)...)
				response.Diagnostics.Append(request.SourceState.GetAttribute(ctx, path.Root("name"), &name)...)
				response.Diagnostics.Append(request.SourceState.GetAttribute(ctx, path.Root("title"), &title)...)
				m.takeOver(ctx, movableModel{ID: id, Name: name, Title: title, KeptIn: types.StringValue(versionedKind)}, request, response)
			},
		},
		{StateMover: func(ctx context.Context, request resource.MoveStateRequest, response *resource.MoveStateResponse) {
			if kind, known := movableSources[request.SourceTypeName]; known {
				m.takeOverRaw(ctx, kind, request, response)
			}
		}},
		{StateMover: func(ctx context.Context, request resource.MoveStateRequest, response *resource.MoveStateResponse) {
			if request.SourceTypeName == movableType && strings.HasSuffix(request.SourceProviderAddress, "/elsewhere/conformance") {
				m.takeOverRaw(ctx, movableKind, request, response)
			}
		}},
	}
}

func (m *movableResource) takeOverRaw(ctx context.Context, kind string, request resource.MoveStateRequest, response *resource.MoveStateResponse) {
	if request.SourceRawState == nil {
		return
	}
	var source map[string]any
	err := json.Unmarshal(request.SourceRawState.JSON, &source)
	if addError(&response.Diagnostics, "The state cannot be read", err); err != nil {
		return
	}
	text := func(names ...string) types.String {
		for _, name := range names {
			if text, ok := source[name].(string); ok && text != "" {
				return types.StringValue(text)
			}
		}
		return types.StringNull()
	}
	m.takeOver(ctx, movableModel{
		ID: text("id"), Name: text("name"), Title: text("title", "old_title", "label"), KeptIn: types.StringValue(kind),
	}, request, response)
}

func (m *movableResource) takeOver(ctx context.Context, model movableModel, request resource.MoveStateRequest, response *resource.MoveStateResponse) {
	if strings.HasPrefix(model.Name.ValueString(), "refuse") {
		response.Diagnostics.AddError("Move refused", fmt.Sprintf("A %s of this name cannot become a %s.", request.SourceTypeName, movableType))
		return
	}
	model.CameFrom = types.StringValue(fmt.Sprintf("%s of %s, version %d", request.SourceTypeName, request.SourceProviderAddress, request.SourceSchemaVersion))
	response.Diagnostics.Append(response.TargetState.Set(ctx, &model)...)
	response.Diagnostics.Append(response.TargetPrivate.SetKey(ctx, movedKey, encodePrivate(map[string]string{"from": request.SourceTypeName}))...)
}

func (m *movableResource) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	var plan movableModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	if response.Diagnostics.HasError() {
		return
	}
	id, err := m.cloud.objects().Create(m.kind, plan.Name.ValueString(), func(id string) any {
		return map[string]any{"id": id, "name": plan.Name.ValueString(), "title": plan.Title.ValueStringPointer(), "revision": 1}
	})
	if addError(&response.Diagnostics, "The object could not be created", err); err != nil {
		return
	}
	plan.ID, plan.KeptIn, plan.CameFrom = types.StringValue(id), types.StringValue(m.kind), types.StringValue("nowhere")
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
}

// Read fails if what was taken over comes without the private data of the move.
func (m *movableResource) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	var state movableModel
	response.Diagnostics.Append(request.State.Get(ctx, &state)...)
	moved, found := request.Private.GetKey(ctx, movedKey)
	response.Diagnostics.Append(found...)
	if strings.Contains(state.CameFrom.ValueString(), " of ") && moved == nil {
		response.Diagnostics.AddError(privateLost, "The private data of the move did not come back with this call.")
	}
	if response.Diagnostics.HasError() {
		return
	}
	object, err := m.object(ctx, request.State)
	if addError(&response.Diagnostics, "The object could not be read", err); err != nil {
		return
	}
	if object == nil {
		response.State.RemoveResource(ctx)
		return
	}
	name, _ := object["name"].(string)
	state.Name = types.StringValue(name)
	state.Title = types.StringNull()
	legacy := strings.HasPrefix(state.KeptIn.ValueString(), "legacy")
	if title, ok := object["title"].(string); ok && (title != "" || !legacy) {
		state.Title = types.StringValue(title)
	}
	if state.KeptIn.IsNull() {
		state.KeptIn, state.CameFrom = types.StringValue(m.kind), types.StringValue("import")
	}
	response.Diagnostics.Append(response.State.Set(ctx, &state)...)
}

func (m *movableResource) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	var plan movableModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	object, err := m.object(ctx, request.State)
	if err == nil && object == nil {
		err = fmt.Errorf("there is no object %s to update", plan.ID.ValueString())
	}
	if err == nil {
		object["title"] = plan.Title.ValueStringPointer()
		err = m.cloud.objects().Write(plan.KeptIn.ValueString(), plan.ID.ValueString(), object)
	}
	if addError(&response.Diagnostics, "The object could not be updated", err); response.Diagnostics.HasError() {
		return
	}
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
}

func (m *movableResource) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	var state movableModel
	response.Diagnostics.Append(request.State.Get(ctx, &state)...)
	if response.Diagnostics.HasError() {
		return
	}
	err := m.cloud.objects().Remove(state.KeptIn.ValueString(), state.ID.ValueString())
	addError(&response.Diagnostics, "The object could not be deleted", err)
}

// object is the file of a state, whoever made it; nil where there is none.
func (m *movableResource) object(ctx context.Context, state tfsdk.State) (map[string]any, error) {
	var keptIn types.String
	if diagnostics := state.GetAttribute(ctx, path.Root("kept_in"), &keptIn); diagnostics.HasError() {
		return nil, fmt.Errorf("%v", diagnostics)
	}
	kind := keptIn.ValueString()
	if kind == "" {
		kind = m.kind
	}
	var object map[string]any
	found, err := m.cloud.objects().Read(kind, idIn(state.Raw), &object)
	if err != nil || !found {
		return nil, err
	}
	return object, nil
}
