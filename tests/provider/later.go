package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// laterDataSource waits for a prerequisite, and shows what the module that asks says of itself (provider meta).
type laterDataSource struct {
	cloud *cloud
}

var (
	_ datasource.DataSourceWithConfigure      = (*laterDataSource)(nil)
	_ datasource.DataSourceWithValidateConfig = (*laterDataSource)(nil)
)

type laterModel struct {
	WaitFor types.String `tfsdk:"wait_for"`
	Trouble types.String `tfsdk:"trouble"`
	Content types.String `tfsdk:"content"`
	Secret  types.String `tfsdk:"secret"`
	Module  types.String `tfsdk:"module"`
}

func (*laterDataSource) Metadata(_ context.Context, request datasource.MetadataRequest, response *datasource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_later"
}

func (*laterDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, response *datasource.SchemaResponse) {
	response.Schema = schema.Schema{
		Description: "Waits for a prerequisite.",
		Attributes: map[string]schema.Attribute{
			"wait_for": schema.StringAttribute{Optional: true, Description: waitForDescription},
			"trouble":  schema.StringAttribute{Optional: true, Description: "`invalid` fails in validation; `warn`, `error`, `wait` in reading."},
			"content":  schema.StringAttribute{Computed: true, Description: "What there is to read."},
			"secret":   schema.StringAttribute{Computed: true, Sensitive: true, Description: "The same, but sensitive."},
			"module":   schema.StringAttribute{Computed: true, Description: "What provider meta calls the module."},
		},
	}
}

func (l *laterDataSource) Configure(_ context.Context, request datasource.ConfigureRequest, response *datasource.ConfigureResponse) {
	configured, err := cloudOf(request.ProviderData)
	addError(&response.Diagnostics, "Provider data", err)
	l.cloud = configured
}

func (*laterDataSource) ValidateConfig(ctx context.Context, request datasource.ValidateConfigRequest, response *datasource.ValidateConfigResponse) {
	var asked types.String
	response.Diagnostics.Append(request.Config.GetAttribute(ctx, path.Root("trouble"), &asked)...)
	if asked.ValueString() == "invalid" {
		response.Diagnostics.AddAttributeError(path.Root("trouble"), "Invalid configuration", "This was asked for.")
	}
}

func (l *laterDataSource) Read(ctx context.Context, request datasource.ReadRequest, response *datasource.ReadResponse) {
	var config laterModel
	response.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	response.Diagnostics.Append(request.ProviderMeta.GetAttribute(ctx, path.Root("module_name"), &config.Module)...)
	if response.Diagnostics.HasError() {
		return
	}
	switch config.Trouble.ValueString() {
	case "warn":
		response.Diagnostics.AddAttributeWarning(path.Root("trouble"), "Read doubtful", "This was asked for.")
	case "error":
		response.Diagnostics.AddAttributeError(path.Root("trouble"), "Read failed", "This was asked for.")
		return
	case "wait":
		<-ctx.Done()
		response.Diagnostics.AddError("Read interrupted", "It waited for ever, as it was asked to.")
		return
	}
	if reason := waits(l.cloud.objects(), config.WaitFor, request.ClientCapabilities.DeferralAllowed, &response.Diagnostics); reason != 0 {
		response.Deferred = &datasource.Deferred{Reason: datasource.DeferredReason(reason)}
	}
	if response.Diagnostics.HasError() {
		return
	}
	config.Content = types.StringValue("content for " + config.WaitFor.ValueString())
	config.Secret = types.StringValue("secret for " + config.WaitFor.ValueString())
	if response.Deferred != nil {
		config.Content, config.Secret = types.StringUnknown(), types.StringUnknown()
	}
	response.Diagnostics.Append(response.State.Set(ctx, &config)...)
}
