package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// plannerResource plans what its attributes ask for: replacements, unknown values, warnings, errors, and what no provider may plan or
// answer.
type plannerResource struct {
	keeper
}

var (
	_ resource.ResourceWithConfigure        = (*plannerResource)(nil)
	_ resource.ResourceWithImportState      = (*plannerResource)(nil)
	_ resource.ResourceWithModifyPlan       = (*plannerResource)(nil)
	_ resource.ResourceWithValidateConfig   = (*plannerResource)(nil)
	_ resource.ResourceWithConfigValidators = (*plannerResource)(nil)
)

type plannerModel struct {
	ID         types.String `tfsdk:"id"`
	Name       types.String `tfsdk:"name"`
	Value      types.String `tfsdk:"value"`
	Token      types.String `tfsdk:"token"`
	Summary    types.String `tfsdk:"summary"`
	OnValidate types.String `tfsdk:"on_validate"`
	OnPlan     types.String `tfsdk:"on_plan"`
	OnApply    types.String `tfsdk:"on_apply"`
	OnRead     types.String `tfsdk:"on_read"`
	OnDestroy  types.String `tfsdk:"on_destroy"`
}

func newPlannerResource() resource.Resource {
	return &plannerResource{keeper{kind: "planner", schema: func(context.Context) schema.Schema {
		return schema.Schema{
			Description: "Plans what it is asked to.",
			Attributes: keeperAttributes(map[string]schema.Attribute{
				"value": schema.StringAttribute{Optional: true, Description: "Something to change, and the path of all that is said."},
				"token": schema.StringAttribute{
					Computed: true, Description: "Computed once; unknown again if a plan is asked for that.",
					PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
				},
				"summary":     schema.StringAttribute{Computed: true, Description: "Planned as `summary of VALUE`."},
				"on_validate": schema.StringAttribute{Optional: true, Description: "`warn`, `error`; `one` of `on_read` and `on_destroy` has to be set."},
				"on_plan": schema.StringAttribute{
					Optional:    true,
					Description: "`replace` where the value changes, `unknown`, `warn`, `error`; `overrule` plans another value than is configured.",
				},
				"on_apply": schema.StringAttribute{
					Optional:    true,
					Description: "`warn`; `contradict` answers another value, `contradict-summary` another summary than was planned.",
				},
				"on_read":    schema.StringAttribute{Optional: true, Description: "`warn`, `error`, `drift` (the value reads as `drifted`)."},
				"on_destroy": schema.StringAttribute{Optional: true, Description: "`warn`, `error`: of the plan to destroy it."},
			}),
		}
	}}}
}

// Metadata asks for plans even where the whole provider defers, as few resources do: by default, the library answers in their place.
func (p *plannerResource) Metadata(ctx context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	p.keeper.Metadata(ctx, request, response)
	response.ResourceBehavior.ProviderDeferred.EnablePlanModification = true
}

func (p *plannerResource) ConfigValidators(context.Context) []resource.ConfigValidator {
	return []resource.ConfigValidator{exactlyOne{where: "on_validate", value: "one", of: []string{"on_read", "on_destroy"}}}
}

func (p *plannerResource) ValidateConfig(ctx context.Context, request resource.ValidateConfigRequest, response *resource.ValidateConfigResponse) {
	var onValidate types.String
	response.Diagnostics.Append(request.Config.GetAttribute(ctx, path.Root("on_validate"), &onValidate)...)
	sayAsAsked(&response.Diagnostics, onValidate, "validation")
}

func (p *plannerResource) ModifyPlan(ctx context.Context, request resource.ModifyPlanRequest, response *resource.ModifyPlanResponse) {
	if request.Plan.Raw.IsNull() {
		var onDestroy types.String
		response.Diagnostics.Append(request.State.GetAttribute(ctx, path.Root("on_destroy"), &onDestroy)...)
		sayAsAsked(&response.Diagnostics, onDestroy, "destruction")
		return
	}
	var plan plannerModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	sayAsAsked(&response.Diagnostics, plan.OnPlan, "plan")
	if response.Diagnostics.HasError() {
		return
	}
	plan.Summary = types.StringUnknown()
	if !plan.Value.IsUnknown() {
		plan.Summary = types.StringValue("summary of " + plan.Value.ValueString())
	}
	switch plan.OnPlan.ValueString() {
	case "replace":
		response.RequiresReplace = append(response.RequiresReplace, path.Root("value"))
	case "unknown":
		plan.Token = types.StringUnknown()
	case "overrule":
		plan.Value = types.StringValue("overruled")
	}
	response.Diagnostics.Append(response.Plan.Set(ctx, &plan)...)
}

func (p *plannerResource) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	p.create(ctx, request, response, p.finish(ctx, request.Plan, &response.Diagnostics))
}

func (p *plannerResource) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	var onRead types.String
	response.Diagnostics.Append(request.State.GetAttribute(ctx, path.Root("on_read"), &onRead)...)
	sayAsAsked(&response.Diagnostics, onRead, "read")
	if response.Diagnostics.HasError() {
		return
	}
	p.keeper.Read(ctx, request, response)
	if onRead.ValueString() == "drift" && !response.State.Raw.IsNull() {
		response.Diagnostics.Append(response.State.SetAttribute(ctx, path.Root("value"), "drifted")...)
	}
}

func (p *plannerResource) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	p.update(ctx, request, response, p.finish(ctx, request.Plan, &response.Diagnostics))
}

// finish answers, and keeps, what `on_apply` asks for.
func (p *plannerResource) finish(ctx context.Context, plan attributeValues, diagnostics *diag.Diagnostics) finish {
	var onApply types.String
	diagnostics.Append(plan.GetAttribute(ctx, path.Root("on_apply"), &onApply)...)
	sayAsAsked(diagnostics, onApply, "change")
	return func(object *keptObject, members map[string]tftypes.Value) {
		switch onApply.ValueString() {
		case "contradict":
			members["value"] = tftypes.NewValue(tftypes.String, "contradicted")
		case "contradict-summary":
			members["summary"] = tftypes.NewValue(tftypes.String, "contradicted")
		}
	}
}

// sayAsAsked warns or fails, at the path `value`.
func sayAsAsked(diagnostics *diag.Diagnostics, asked types.String, what string) {
	switch asked.ValueString() {
	case "warn":
		diagnostics.AddAttributeWarning(path.Root("value"), "Doubtful "+what, "This was asked for.")
	case "error":
		diagnostics.AddAttributeError(path.Root("value"), "Refused "+what, "This was asked for.")
	}
}
