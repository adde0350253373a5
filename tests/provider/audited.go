package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/metaschema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// auditedResource shows provider meta: what a module says of itself, which comes with plans, changes and reads.
type auditedResource struct {
	keeper
}

var (
	_ resource.ResourceWithConfigure   = (*auditedResource)(nil)
	_ resource.ResourceWithImportState = (*auditedResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*auditedResource)(nil)
	_ provider.ProviderWithMetaSchema  = (*conformanceProvider)(nil)
)

// MetaSchema is what modules may say.
func (p *conformanceProvider) MetaSchema(_ context.Context, _ provider.MetaSchemaRequest, response *provider.MetaSchemaResponse) {
	response.Schema = metaschema.Schema{Attributes: map[string]metaschema.Attribute{
		"module_name": metaschema.StringAttribute{Optional: true, Description: "Name of the module."},
		"module_tags": metaschema.MapAttribute{Optional: true, ElementType: types.StringType, Description: "Tags of the module."},
	}}
}

func newAuditedResource() resource.Resource {
	return &auditedResource{keeper{kind: "audited", schema: func(context.Context) schema.Schema {
		return schema.Schema{
			Description: "Shows what the module says of itself.",
			Attributes: keeperAttributes(map[string]schema.Attribute{
				"value":  schema.StringAttribute{Optional: true, Description: "Something to change."},
				"module": schema.StringAttribute{Computed: true, Description: "What provider meta calls the module, in each plan anew."},
			}),
		}
	}}}
}

// ModifyPlan plans the module's name: a plan and its apply have to come with the same.
func (a *auditedResource) ModifyPlan(ctx context.Context, request resource.ModifyPlanRequest, response *resource.ModifyPlanResponse) {
	if !request.Plan.Raw.IsNull() {
		module := moduleOf(ctx, request.ProviderMeta, &response.Diagnostics)
		response.Diagnostics.Append(response.Plan.SetAttribute(ctx, path.Root("module"), module)...)
	}
}

func (a *auditedResource) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	a.create(ctx, request, response, noteModule(ctx, "create", request.ProviderMeta, &response.Diagnostics))
}

// Read notes the module in the object's file.
func (a *auditedResource) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	object, _, err := a.load(ctx, request.State)
	if err == nil && object != nil {
		object.note("read", moduleOf(ctx, request.ProviderMeta, &response.Diagnostics).ValueString())
		err = a.cloud.objects().Write(a.kind, object.ID, object)
	}
	if addError(&response.Diagnostics, "The module could not be noted", err); err == nil {
		a.keeper.Read(ctx, request, response)
	}
}

func (a *auditedResource) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	a.update(ctx, request, response, noteModule(ctx, "update", request.ProviderMeta, &response.Diagnostics))
}

// Delete notes the module in DIRECTORY/audited_deleted/ID.json.
func (a *auditedResource) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	a.keeper.Delete(ctx, request, response)
	module := moduleOf(ctx, request.ProviderMeta, &response.Diagnostics)
	err := a.cloud.objects().Write(a.kind+"_deleted", idIn(request.State.Raw), map[string]string{"delete": module.ValueString()})
	addError(&response.Diagnostics, "The module could not be noted", err)
}

func noteModule(ctx context.Context, operation string, meta tfsdk.Config, diagnostics *diag.Diagnostics) finish {
	module := moduleOf(ctx, meta, diagnostics)
	return func(object *keptObject, _ map[string]tftypes.Value) {
		object.note(operation, module.ValueString())
	}
}

// moduleOf is null where no provider meta came.
func moduleOf(ctx context.Context, meta tfsdk.Config, diagnostics *diag.Diagnostics) types.String {
	var module types.String
	diagnostics.Append(meta.GetAttribute(ctx, path.Root("module_name"), &module)...)
	return module
}
