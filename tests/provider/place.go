package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/list"
	listschema "github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// placeResource has an identity, can be listed, and takes over the state of a record. It is a narrow view on the very files of
// records, so that taking over a record's state needs no second object.
type placeResource struct {
	cloud *cloud
}

var (
	_ resource.ResourceWithConfigure   = (*placeResource)(nil)
	_ resource.ResourceWithIdentity    = (*placeResource)(nil)
	_ resource.ResourceWithImportState = (*placeResource)(nil)
	_ resource.ResourceWithMoveState   = (*placeResource)(nil)
)

type placeModel struct {
	ID   types.String `tfsdk:"id"`
	Name types.String `tfsdk:"name"`
	Note types.String `tfsdk:"note"`
}

type placeIdentity struct {
	ID     types.String `tfsdk:"id"`
	Region types.String `tfsdk:"region"`
}

func (*placeResource) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_place"
}

func (*placeResource) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	response.Schema = schema.Schema{
		Description: "A place: a narrow view on a record, with an identity.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed:      true,
				Description:   "Name of the object's file, without its ending.",
				PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			},
			"name": schema.StringAttribute{
				Required:      true,
				Description:   "What the id starts with.",
				PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
			},
			"note": schema.StringAttribute{Optional: true, Description: "The record's title."},
		},
	}
}

func (*placeResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, response *resource.IdentitySchemaResponse) {
	response.IdentitySchema = identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{
			"id":     identityschema.StringAttribute{RequiredForImport: true, Description: "The place's id."},
			"region": identityschema.StringAttribute{OptionalForImport: true, Description: "The provider's region."},
		},
	}
}

func (p *placeResource) Configure(_ context.Context, request resource.ConfigureRequest, response *resource.ConfigureResponse) {
	configured, err := cloudOf(request.ProviderData)
	addError(&response.Diagnostics, "Provider data", err)
	p.cloud = configured
}

func (p *placeResource) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	var plan placeModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	if response.Diagnostics.HasError() {
		return
	}
	id, err := p.cloud.objects().Create(recordKind, plan.Name.ValueString(), func(id string) any {
		return recordObject{ID: id, Name: plan.Name.ValueString(), Title: plan.Note.ValueStringPointer(), Revision: 1}
	})
	if addError(&response.Diagnostics, "The place could not be created", err); response.Diagnostics.HasError() {
		return
	}
	plan.ID = types.StringValue(id)
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
	response.Diagnostics.Append(response.Identity.Set(ctx, p.cloud.identity(id))...)
}

func (p *placeResource) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	var state placeModel
	response.Diagnostics.Append(request.State.Get(ctx, &state)...)
	if response.Diagnostics.HasError() {
		return
	}
	var object recordObject
	found, err := p.cloud.objects().Read(recordKind, state.ID.ValueString(), &object)
	if addError(&response.Diagnostics, "The place could not be read", err); response.Diagnostics.HasError() {
		return
	}
	if !found {
		response.State.RemoveResource(ctx)
		return
	}
	response.Diagnostics.Append(response.State.Set(ctx, placeOf(object))...)
	response.Diagnostics.Append(response.Identity.Set(ctx, p.cloud.identity(object.ID))...)
}

func (p *placeResource) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	var plan placeModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	if response.Diagnostics.HasError() {
		return
	}
	var object recordObject
	found, err := p.cloud.objects().Read(recordKind, plan.ID.ValueString(), &object)
	if err == nil && !found {
		err = fmt.Errorf("there is no object %s", plan.ID.ValueString())
	}
	if err == nil {
		object.Title = plan.Note.ValueStringPointer()
		object.Revision++
		err = p.cloud.objects().Write(recordKind, object.ID, object)
	}
	if addError(&response.Diagnostics, "The place could not be written", err); response.Diagnostics.HasError() {
		return
	}
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
}

func (p *placeResource) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	var state placeModel
	response.Diagnostics.Append(request.State.Get(ctx, &state)...)
	if response.Diagnostics.HasError() {
		return
	}
	err := p.cloud.objects().Remove(recordKind, state.ID.ValueString())
	addError(&response.Diagnostics, "The place could not be deleted", err)
}

// ImportState takes the id, or the identity.
func (p *placeResource) ImportState(ctx context.Context, request resource.ImportStateRequest, response *resource.ImportStateResponse) {
	resource.ImportStatePassthroughWithIdentity(ctx, path.Root("id"), path.Root("id"), request, response)
}

// MoveState takes over a record of this provider, whatever the provider's address is called.
func (p *placeResource) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{
		StateMover: func(ctx context.Context, request resource.MoveStateRequest, response *resource.MoveStateResponse) {
			if request.SourceTypeName != "conformance_record" || request.SourceRawState == nil {
				return
			}
			var source struct {
				ID    string  `json:"id"`
				Name  string  `json:"name"`
				Title *string `json:"title"`
			}
			err := json.Unmarshal(request.SourceRawState.JSON, &source)
			if addError(&response.Diagnostics, "The record's state cannot be read", err); err != nil {
				return
			}
			response.Diagnostics.Append(response.TargetState.Set(ctx, &placeModel{
				ID:   types.StringValue(source.ID),
				Name: types.StringValue(source.Name),
				Note: types.StringPointerValue(source.Title),
			})...)
		},
	}}
}

func placeOf(object recordObject) *placeModel {
	return &placeModel{
		ID:   types.StringValue(object.ID),
		Name: types.StringValue(object.Name),
		Note: types.StringPointerValue(object.Title),
	}
}

// identity says "nowhere" where the provider has no region: an identity may hold no nulls that a later read would fill.
func (c *cloud) identity(id string) *placeIdentity {
	region := c.region
	if region == "" {
		region = "nowhere"
	}
	return &placeIdentity{ID: types.StringValue(id), Region: types.StringValue(region)}
}

// placeList lists places, those of one name if asked to.
type placeList struct {
	cloud *cloud
}

var _ list.ListResourceWithConfigure = (*placeList)(nil)

type placeListModel struct {
	Name types.String `tfsdk:"name"`
}

func (*placeList) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_place"
}

func (*placeList) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, response *list.ListResourceSchemaResponse) {
	response.Schema = listschema.Schema{
		Description: "Lists places.",
		Attributes: map[string]listschema.Attribute{
			"name": listschema.StringAttribute{Optional: true, Description: "Only places of this name."},
		},
	}
}

func (l *placeList) Configure(_ context.Context, request resource.ConfigureRequest, response *resource.ConfigureResponse) {
	configured, err := cloudOf(request.ProviderData)
	addError(&response.Diagnostics, "Provider data", err)
	l.cloud = configured
}

func (l *placeList) List(ctx context.Context, request list.ListRequest, stream *list.ListResultsStream) {
	var config placeListModel
	diagnostics := request.Config.Get(ctx, &config)
	ids, err := l.cloud.objects().IDs(recordKind)
	if addError(&diagnostics, "The places could not be listed", err); diagnostics.HasError() {
		stream.Results = list.ListResultsStreamDiagnostics(diagnostics)
		return
	}

	stream.Results = func(push func(list.ListResult) bool) {
		var sent int64
		for _, id := range ids {
			if request.Limit > 0 && sent == request.Limit {
				return
			}
			var object recordObject
			result := request.NewListResult(ctx)
			found, err := l.cloud.objects().Read(recordKind, id, &object)
			addError(&result.Diagnostics, "A place could not be read", err)
			if err == nil && (!found || !config.Name.IsNull() && config.Name.ValueString() != object.Name) {
				continue
			}
			if err == nil {
				result.DisplayName = object.Name
				result.Diagnostics.Append(result.Identity.Set(ctx, l.cloud.identity(id))...)
				if request.IncludeResource {
					result.Diagnostics.Append(result.Resource.Set(ctx, placeOf(object))...)
				}
			}
			if !push(result) {
				return
			}
			sent++
		}
	}
}
