package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// recordResource is the broad one: one attribute or block for each thing that a bridge has to carry, and names and titles that make
// it warn, refuse, fail, half-fail or wait. README.md has the table.
type recordResource struct {
	protocol int
	cloud    *cloud
}

var (
	_ resource.ResourceWithConfigure      = (*recordResource)(nil)
	_ resource.ResourceWithImportState    = (*recordResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*recordResource)(nil)
	_ resource.ResourceWithValidateConfig = (*recordResource)(nil)
)

const (
	recordKind = "record"

	// defaultTimeout holds where the configuration sets none.
	defaultTimeout = 20 * time.Minute
)

func (*recordResource) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_record"
}

func (r *recordResource) Schema(ctx context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	attributes := map[string]schema.Attribute{
		"id": schema.StringAttribute{
			Computed:      true,
			Description:   "Name of the object's file, without its ending.",
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"name": schema.StringAttribute{
			Required:      true,
			Description:   "What the id starts with; `fail-`, `partial-` and `slow-` in front make the creation misbehave.",
			PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
		},
		"title": schema.StringAttribute{
			Optional:    true,
			Description: "A text; `warn`, `invalid` and `fail-update` have their own effects.",
		},
		"size": schema.Int64Attribute{
			Optional:    true,
			Computed:    true,
			Default:     int64default.StaticInt64(1),
			Description: "A number with a default.",
		},
		"tags": schema.MapAttribute{
			Optional:    true,
			ElementType: types.StringType,
			Description: "A map of strings.",
		},
		"labels": schema.SetAttribute{
			Optional:    true,
			ElementType: types.StringType,
			Description: "A set of strings.",
		},
		"secret": schema.StringAttribute{
			Optional:    true,
			Sensitive:   true,
			Description: "A sensitive text.",
		},
		"password_wo": schema.StringAttribute{
			Optional:    true,
			Sensitive:   true,
			WriteOnly:   true,
			Description: "Never in state; the object's file holds what arrived, so that a test can tell that it did.",
		},
		"password_wo_version": schema.Int64Attribute{
			Optional:    true,
			Description: "Change it to have `password_wo` written again.",
		},
		"etag": schema.StringAttribute{
			Computed:    true,
			Description: "Known only after each write: v1, v2, …",
		},
		"extra": schema.DynamicAttribute{
			Optional:    true,
			Description: "Any value of any type.",
		},
	}
	blocks := map[string]schema.Block{
		"rule": schema.ListNestedBlock{
			Description: "A list of blocks, with a default inside.",
			NestedObject: schema.NestedBlockObject{
				Attributes: map[string]schema.Attribute{
					"port": schema.Int64Attribute{Required: true, Description: "Port."},
					"protocol": schema.StringAttribute{
						Optional:    true,
						Computed:    true,
						Default:     stringdefault.StaticString("tcp"),
						Description: "Protocol.",
					},
				},
			},
		},
		"grant": schema.SetNestedBlock{
			Description: "A set of blocks.",
			NestedObject: schema.NestedBlockObject{
				Attributes: map[string]schema.Attribute{
					"who":   schema.StringAttribute{Required: true, Description: "Who may."},
					"level": schema.StringAttribute{Optional: true, Description: "What they may."},
				},
			},
		},
		"settings": schema.SingleNestedBlock{
			Description: "A single block.",
			Attributes: map[string]schema.Attribute{
				"mode":    schema.StringAttribute{Optional: true, Description: "Mode."},
				"verbose": schema.BoolAttribute{Optional: true, Description: "A truth value."},
				"quota":   schema.NumberAttribute{Optional: true, Description: "A number of any size."},
			},
		},
	}

	// The two shapes in which the framework's providers offer timeouts; a nested attribute takes protocol 6.
	if r.protocol == 6 {
		attributes["timeouts"] = timeouts.AttributesAll(ctx)
	} else {
		blocks["timeouts"] = timeouts.BlockAll(ctx)
	}

	response.Schema = schema.Schema{
		Description: "A record: one of everything.",
		Attributes:  attributes,
		Blocks:      blocks,
	}
}

func (r *recordResource) Configure(_ context.Context, request resource.ConfigureRequest, response *resource.ConfigureResponse) {
	configured, err := cloudOf(request.ProviderData)
	addError(&response.Diagnostics, "Provider data", err)
	r.cloud = configured
}

// ValidateConfig refuses one title, at its path.
func (r *recordResource) ValidateConfig(ctx context.Context, request resource.ValidateConfigRequest, response *resource.ValidateConfigResponse) {
	var title types.String
	response.Diagnostics.Append(request.Config.GetAttribute(ctx, path.Root("title"), &title)...)
	if title.ValueString() == "invalid" {
		response.Diagnostics.AddAttributeError(path.Root("title"), "Invalid title", "A record cannot have this title.")
	}
}

// ModifyPlan warns of one title, at its path; it leaves the plan alone.
func (r *recordResource) ModifyPlan(ctx context.Context, request resource.ModifyPlanRequest, response *resource.ModifyPlanResponse) {
	if request.Plan.Raw.IsNull() {
		return
	}
	var title types.String
	response.Diagnostics.Append(request.Plan.GetAttribute(ctx, path.Root("title"), &title)...)
	if title.ValueString() == "warn" {
		response.Diagnostics.AddAttributeWarning(path.Root("title"), "Questionable title", "This title is allowed, but not advised.")
	}
}

func (r *recordResource) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	tflog.Trace(ctx, "creating a record")
	var plan, config recordModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	response.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	if response.Diagnostics.HasError() {
		return
	}

	timeout, diagnostics := plan.Timeouts.Create(ctx, defaultTimeout)
	response.Diagnostics.Append(diagnostics...)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	name := plan.Name.ValueString()
	switch {
	case strings.HasPrefix(name, "fail-"):
		response.Diagnostics.AddError("Creation failed", "Names that start with fail- are never created.")
		return
	case strings.HasPrefix(name, "slow-"):
		<-ctx.Done()
		response.Diagnostics.AddError("Creation interrupted", fmt.Sprintf("Names that start with slow- wait for ever; the wait ended: %s.", ctx.Err()))
		return
	}

	var object recordObject
	id, err := r.cloud.objects().Create(recordKind, name, func(id string) any {
		object = plan.object(ctx, &response.Diagnostics)
		object.ID = id
		object.Revision = 1
		object.Password = config.PasswordWO.ValueString()
		return object
	})
	if addError(&response.Diagnostics, "The record could not be created", err); response.Diagnostics.HasError() {
		return
	}

	plan.ID = types.StringValue(id)
	plan.Etag = object.etag()
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
	response.Diagnostics.Append(response.Private.SetKey(ctx, privateKey, privateCounter{Writes: 1}.encode())...)

	// After the object exists and its state is set, an error means: half made, to be replaced.
	if strings.HasPrefix(name, "partial-") {
		response.Diagnostics.AddError("Creation incomplete", "Names that start with partial- are created, and then something goes wrong.")
	}
}

func (r *recordResource) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	var state recordModel
	response.Diagnostics.Append(request.State.Get(ctx, &state)...)
	_, err := readPrivate(ctx, request.Private)
	if addError(&response.Diagnostics, privateLost, err); response.Diagnostics.HasError() {
		return
	}

	var object recordObject
	found, err := r.cloud.objects().Read(recordKind, state.ID.ValueString(), &object)
	if addError(&response.Diagnostics, "The record could not be read", err); response.Diagnostics.HasError() {
		return
	}
	if !found {
		response.State.RemoveResource(ctx)
		return
	}
	state.refresh(ctx, object, &response.Diagnostics)
	response.Diagnostics.Append(response.State.Set(ctx, &state)...)
}

func (r *recordResource) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	var plan, config, state recordModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	response.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	response.Diagnostics.Append(request.State.Get(ctx, &state)...)
	counter, err := readPrivate(ctx, request.Private)
	if addError(&response.Diagnostics, privateLost, err); response.Diagnostics.HasError() {
		return
	}
	if plan.Title.ValueString() == "fail-update" {
		response.Diagnostics.AddError("Update failed", "No record is ever updated to this title.")
		return
	}

	id := state.ID.ValueString()
	var former recordObject
	found, err := r.cloud.objects().Read(recordKind, id, &former)
	addError(&response.Diagnostics, "The record could not be read", err)
	if err == nil && !found {
		response.Diagnostics.AddError("The record is gone", fmt.Sprintf("There is no record %s to update.", id))
	}
	if response.Diagnostics.HasError() {
		return
	}

	object := plan.object(ctx, &response.Diagnostics)
	object.ID = id
	object.Revision = former.Revision + 1
	object.Password = former.Password
	if !plan.PasswordWOVersion.Equal(state.PasswordWOVersion) {
		object.Password = config.PasswordWO.ValueString()
	}
	err = r.cloud.objects().Write(recordKind, id, object)
	if addError(&response.Diagnostics, "The record could not be written", err); response.Diagnostics.HasError() {
		return
	}

	plan.ID = state.ID
	plan.Etag = object.etag()
	counter.Writes++
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
	response.Diagnostics.Append(response.Private.SetKey(ctx, privateKey, counter.encode())...)
}

func (r *recordResource) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	var state recordModel
	response.Diagnostics.Append(request.State.Get(ctx, &state)...)
	_, err := readPrivate(ctx, request.Private)
	if addError(&response.Diagnostics, privateLost, err); response.Diagnostics.HasError() {
		return
	}
	err = r.cloud.objects().Remove(recordKind, state.ID.ValueString())
	addError(&response.Diagnostics, "The record could not be deleted", err)
}

// ImportState takes the id alone; the read that follows fills in the rest.
func (r *recordResource) ImportState(ctx context.Context, request resource.ImportStateRequest, response *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), request, response)
	response.Diagnostics.Append(response.Private.SetKey(ctx, privateKey, privateCounter{}.encode())...)
}

// addError turns a Go error, if there is one, into a diagnostic.
func addError(diagnostics *diag.Diagnostics, summary string, err error) {
	if err != nil {
		diagnostics.AddError(summary, err.Error())
	}
}
