package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// announceAction takes several steps, and reports each. DIRECTORY/announcement/ID.json tells how far it got.
type announceAction struct {
	cloud *cloud
}

var (
	_ action.ActionWithConfigure      = (*announceAction)(nil)
	_ action.ActionWithModifyPlan     = (*announceAction)(nil)
	_ action.ActionWithValidateConfig = (*announceAction)(nil)
	_ provider.ProviderWithActions    = (*conformanceProvider)(nil)
)

const announcementKind = "announcement"

type announceModel struct {
	Message   types.String `tfsdk:"message"`
	Steps     types.Int64  `tfsdk:"steps"`
	Pause     types.Int64  `tfsdk:"pause"`
	FailAfter types.Int64  `tfsdk:"fail_after"`
	SecretWO  types.String `tfsdk:"secret_wo"`
	WaitFor   types.String `tfsdk:"wait_for"`
	Audience  []struct {
		Name types.String `tfsdk:"name"`
	} `tfsdk:"audience"`
}

type announcement struct {
	ID       string   `json:"id"`
	Message  string   `json:"message"`
	Secret   string   `json:"secret"`
	Audience []string `json:"audience"`
	Done     int64    `json:"done"`
}

// Actions has but this one; the shapes have more.
func (p *conformanceProvider) Actions(context.Context) []func() action.Action {
	return []func() action.Action{func() action.Action { return &announceAction{} }}
}

func (*announceAction) Metadata(_ context.Context, request action.MetadataRequest, response *action.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_announce"
}

func (*announceAction) Schema(_ context.Context, _ action.SchemaRequest, response *action.SchemaResponse) {
	response.Schema = schema.Schema{
		Description: "Announces something in several steps.",
		Attributes: map[string]schema.Attribute{
			"message": schema.StringAttribute{
				Required:    true,
				Description: "What to announce; `invalid` fails in validation, `refused` in the plan, `doubtful` has warnings in all calls.",
			},
			"steps":      schema.Int64Attribute{Optional: true, Description: "How many steps it takes; one without it."},
			"pause":      schema.Int64Attribute{Optional: true, Description: "Milliseconds after each step."},
			"fail_after": schema.Int64Attribute{Optional: true, Description: "After how many steps it fails."},
			"secret_wo":  schema.StringAttribute{Optional: true, WriteOnly: true, Description: "A secret, which its file shows."},
			"wait_for":   schema.StringAttribute{Optional: true, Description: waitForDescription},
		},
		Blocks: map[string]schema.Block{
			"audience": schema.ListNestedBlock{
				Description: "Who is to hear it.",
				NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
					"name": schema.StringAttribute{Required: true, Description: "A name."},
				}},
			},
		},
	}
}

func (a *announceAction) Configure(_ context.Context, request action.ConfigureRequest, response *action.ConfigureResponse) {
	configured, err := cloudOf(request.ProviderData)
	addError(&response.Diagnostics, "Provider data", err)
	a.cloud = configured
}

func (*announceAction) ValidateConfig(ctx context.Context, request action.ValidateConfigRequest, response *action.ValidateConfigResponse) {
	var message types.String
	response.Diagnostics.Append(request.Config.GetAttribute(ctx, path.Root("message"), &message)...)
	switch message.ValueString() {
	case "invalid":
		response.Diagnostics.AddAttributeError(path.Root("message"), "Invalid message", "Nobody announces this.")
	case "doubtful":
		response.Diagnostics.AddAttributeWarning(path.Root("message"), "Doubtful message", "It can be announced.")
	}
}

// ModifyPlan refuses, warns, or waits for a prerequisite.
func (a *announceAction) ModifyPlan(ctx context.Context, request action.ModifyPlanRequest, response *action.ModifyPlanResponse) {
	var config announceModel
	response.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	if response.Diagnostics.HasError() {
		return
	}
	switch config.Message.ValueString() {
	case "refused":
		response.Diagnostics.AddAttributeError(path.Root("message"), "Refused message", "It shall not be announced.")
	case "doubtful":
		response.Diagnostics.AddAttributeWarning(path.Root("message"), "Doubtful plan", "It will be announced.")
	}
	if a.cloud == nil {
		return
	}
	if reason := waits(a.cloud.objects(), config.WaitFor, request.ClientCapabilities.DeferralAllowed, &response.Diagnostics); reason != 0 {
		response.Deferred = &action.Deferred{Reason: action.DeferredReason(reason)}
	}
}

func (a *announceAction) Invoke(ctx context.Context, request action.InvokeRequest, response *action.InvokeResponse) {
	var config announceModel
	response.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	if response.Diagnostics.HasError() {
		return
	}
	steps := int64(1)
	if !config.Steps.IsNull() {
		steps = config.Steps.ValueInt64()
	}
	object := announcement{Message: config.Message.ValueString(), Secret: config.SecretWO.ValueString()}
	for _, listener := range config.Audience {
		object.Audience = append(object.Audience, listener.Name.ValueString())
	}
	_, err := a.cloud.objects().Create(announcementKind, "announcement", func(id string) any {
		object.ID = id
		return object
	})
	for step := int64(1); step <= steps && err == nil; step++ {
		if !config.FailAfter.IsNull() && step > config.FailAfter.ValueInt64() {
			err = fmt.Errorf("after %d of %d steps, as it was asked to", step-1, steps)
			break
		}
		object.Done = step
		err = a.cloud.objects().Write(announcementKind, object.ID, object)
		response.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf("Step %d of %d.", step, steps)})
		select {
		case <-time.After(time.Duration(config.Pause.ValueInt64()) * time.Millisecond):
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	addError(&response.Diagnostics, "The announcement broke off", err)
	if object.Message == "doubtful" {
		response.Diagnostics.AddAttributeWarning(path.Root("message"), "Doubtful success", "It was announced.")
	}
}
