package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// conformanceProvider is the framework's half of the provider; legacy.go holds the SDK's half. Both halves must declare the very
// same provider schema, which is why that schema uses only what the SDK can say.
type conformanceProvider struct {
	protocol int
}

var (
	_ provider.ProviderWithFunctions          = (*conformanceProvider)(nil)
	_ provider.ProviderWithEphemeralResources = (*conformanceProvider)(nil)
	_ provider.ProviderWithListResources      = (*conformanceProvider)(nil)
	_ provider.ProviderWithValidateConfig     = (*conformanceProvider)(nil)
)

type providerModel struct {
	Directory types.String `tfsdk:"directory"`
	Region    types.String `tfsdk:"region"`
	Token     types.String `tfsdk:"token"`
	Endpoint  types.List   `tfsdk:"endpoint"`
}

// cloud is what resources get from the configured provider.
type cloud struct {
	store  *store
	region string
}

// objects may be asked of no cloud at all: an unconfigured provider has no store, which the store's methods report.
func (c *cloud) objects() *store {
	if c == nil {
		return nil
	}
	return c.store
}

func (p *conformanceProvider) Metadata(_ context.Context, _ provider.MetadataRequest, response *provider.MetadataResponse) {
	response.TypeName = "conformance"
	response.Version = "1.0.0"
}

func (p *conformanceProvider) Schema(_ context.Context, _ provider.SchemaRequest, response *provider.SchemaResponse) {
	response.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"directory": schema.StringAttribute{
				Optional:    true,
				Description: describeDirectory,
			},
			"region": schema.StringAttribute{
				Optional:    true,
				Description: describeRegion,
			},
			"token": schema.StringAttribute{
				Optional:    true,
				Sensitive:   true,
				Description: describeToken,
			},
		},
		Blocks: map[string]schema.Block{
			"endpoint": schema.ListNestedBlock{
				Description: describeEndpoint,
				NestedObject: schema.NestedBlockObject{
					Attributes: map[string]schema.Attribute{
						"url":      schema.StringAttribute{Required: true, Description: describeEndpointURL},
						"insecure": schema.BoolAttribute{Optional: true, Description: describeEndpointInsecure},
					},
				},
			},
		},
	}
}

// ValidateConfig refuses one region, so that a test can see an error of the provider's own validation, with its path.
func (p *conformanceProvider) ValidateConfig(ctx context.Context, request provider.ValidateConfigRequest, response *provider.ValidateConfigResponse) {
	var config providerModel
	response.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	if config.Region.ValueString() == "invalid" {
		response.Diagnostics.AddAttributeError(path.Root("region"), "Invalid region", "There is no region of that name.")
	}
}

func (p *conformanceProvider) Configure(ctx context.Context, request provider.ConfigureRequest, response *provider.ConfigureResponse) {
	var config providerModel
	response.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	if response.Diagnostics.HasError() {
		return
	}
	if config.Token.ValueString() == "refused" {
		response.Diagnostics.AddAttributeError(path.Root("token"), "Token refused", "The service does not accept this token.")
		return
	}

	configured := &cloud{store: &store{directory: directoryOf(config.Directory.ValueString())}, region: config.Region.ValueString()}
	response.ResourceData = configured
	response.DataSourceData = configured
	response.EphemeralResourceData = configured
	response.ListResourceData = configured
}

func (p *conformanceProvider) Resources(context.Context) []func() resource.Resource {
	resources := []func() resource.Resource{
		func() resource.Resource { return &recordResource{protocol: p.protocol} },
		func() resource.Resource { return &placeResource{} },
	}
	if p.protocol == 6 {
		// Nested attributes do not exist in protocol 5.
		resources = append(resources, func() resource.Resource { return &nestedResource{} })
	}
	return resources
}

func (p *conformanceProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		func() datasource.DataSource { return &lookupDataSource{} },
	}
}

func (p *conformanceProvider) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{
		func() ephemeral.EphemeralResource { return &leaseEphemeral{} },
	}
}

func (p *conformanceProvider) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{
		func() list.ListResource { return &placeList{} },
	}
}

func (p *conformanceProvider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{
		func() function.Function { return &joinWordsFunction{} },
		func() function.Function { return &shoutFunction{} },
	}
}

// The two halves must agree on these texts to the letter.
const (
	describeDirectory        = "Folder that holds the objects; else the environment's CONFORMANCE_DIR."
	describeRegion           = "Region; `invalid` is refused when the configuration is validated."
	describeToken            = "Token; `refused` is refused when the provider is configured."
	describeEndpoint         = "Where the service is; decoration, so that the configuration has a block."
	describeEndpointURL      = "URL of the endpoint."
	describeEndpointInsecure = "Whether to go without TLS."
)

// directoryOf returns the configured folder, else the environment's, else nothing.
func directoryOf(configured string) string {
	if configured != "" {
		return configured
	}
	return os.Getenv("CONFORMANCE_DIR")
}

// cloudOf returns the cloud that Configure handed out, or nil before it did (schemas are asked for and configurations validated
// without a configured provider).
func cloudOf(data any) (*cloud, error) {
	if data == nil {
		return nil, nil
	}
	configured, ok := data.(*cloud)
	if !ok {
		return nil, fmt.Errorf("the provider handed out a %T", data)
	}
	return configured, nil
}
