package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/attr"
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

// conformanceProvider is the framework's part of the provider, which has the schema of the provider's configuration for all; legacy.go
// holds the SDK's part, and shapes what neither library can make.
type conformanceProvider struct {
	protocol int
	ages     ages

	// isCrossed is whether the variant of that name is asked for.
	isCrossed bool
}

// ages are the versions of what has a history, by which one binary is a provider of several ages.
type ages struct {
	schema, identity int64
}

// agesOf reads the environment.
func agesOf() (ages, error) {
	schema, schemaErr := schemaVersion(os.Getenv("CONFORMANCE_SCHEMA_VERSION"))
	identity, identityErr := identityVersion(os.Getenv("CONFORMANCE_IDENTITY_VERSION"))
	return ages{schema: schema, identity: identity}, errors.Join(schemaErr, identityErr)
}

var (
	_ provider.ProviderWithFunctions          = (*conformanceProvider)(nil)
	_ provider.ProviderWithEphemeralResources = (*conformanceProvider)(nil)
	_ provider.ProviderWithListResources      = (*conformanceProvider)(nil)
	_ provider.ProviderWithValidateConfig     = (*conformanceProvider)(nil)
	_ provider.ProviderWithConfigValidators   = (*conformanceProvider)(nil)
)

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
	attributes := map[string]schema.Attribute{
		"directory": schema.StringAttribute{
			Optional:    true,
			Description: "Folder that holds the objects; else the environment's CONFORMANCE_DIR.",
		},
		"region": schema.StringAttribute{
			Optional:    true,
			Description: "Region; `invalid` is refused when the configuration is validated, `guarded` needs one token, `later` defers everything, where that is allowed.",
		},
		"token": schema.StringAttribute{
			Optional:    true,
			Sensitive:   true,
			Description: "Token; `refused` is refused when the provider is configured.",
		},

		// From here on, nothing has any effect: these are the shapes that a configuration can have.
		"retries":   schema.Int64Attribute{Optional: true, Description: "A number."},
		"factor":    schema.NumberAttribute{Optional: true, Description: "A number of any size."},
		"verbose":   schema.BoolAttribute{Optional: true, MarkdownDescription: "A *truth* value, see `allowed_account`."},
		"label":     schema.MapAttribute{Optional: true, ElementType: types.StringType, Description: "A map."},
		"old_token": schema.StringAttribute{Optional: true, Sensitive: true, DeprecationMessage: "Use `token` instead."},
		"allowed_account": schema.SetAttribute{
			Optional: true, ElementType: types.StringType, Description: "A set.",
		},
		"regions": schema.ListAttribute{
			Optional: true, ElementType: types.StringType, Description: "A list.",
		},
		"quota": schema.MapAttribute{
			Optional: true, ElementType: types.NumberType, Description: "A map of numbers.",
		},
		"secret_headers": schema.MapAttribute{
			Optional: true, Sensitive: true, ElementType: types.StringType, Description: "A sensitive map.",
		},
		"proxy": schema.ObjectAttribute{
			Optional: true, AttributeTypes: proxyTypes, Description: "An object.",
		},
		"mirror": schema.ListAttribute{
			Optional: true, ElementType: types.ObjectType{AttrTypes: proxyTypes}, Description: "A list of objects.",
		},
	}
	if p.protocol == 6 {
		// Nested attributes do not exist in protocol 5.
		attributes["limits"] = schema.SingleNestedAttribute{
			Optional:    true,
			Description: "A nested attribute.",
			Attributes: map[string]schema.Attribute{
				"per_second": schema.NumberAttribute{Required: true, Description: "A number."},
				"key":        schema.StringAttribute{Optional: true, Sensitive: true, Description: "A secret in it."},
			},
		}
		attributes["pool"] = schema.ListNestedAttribute{
			Optional:    true,
			Description: "A list of nested attributes.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"host": schema.ListAttribute{Optional: true, ElementType: types.StringType, Description: "A list in it."},
			}},
		}
	}
	response.Schema = schema.Schema{
		MarkdownDescription: "The provider's *configuration*; `directory` is the one that matters.",
		Attributes:          attributes,
		Blocks: map[string]schema.Block{
			"endpoint": schema.ListNestedBlock{
				Description: "Where the service is; decoration, so that the configuration has a block.",
				NestedObject: schema.NestedBlockObject{
					Attributes: map[string]schema.Attribute{
						"url":      schema.StringAttribute{Required: true, Description: "URL of the endpoint."},
						"insecure": schema.BoolAttribute{Optional: true, Description: "Whether to go without TLS."},
					},
				},
			},
			"credentials": schema.SingleNestedBlock{
				Description: "A single block, with a secret and a block in it.",
				Attributes: map[string]schema.Attribute{
					"user":     schema.StringAttribute{Optional: true, Description: "A text."},
					"password": schema.StringAttribute{Optional: true, Sensitive: true, Description: "A secret."},
				},
				Blocks: map[string]schema.Block{
					"assume_role": schema.ListNestedBlock{
						Description: "A block in a block.",
						NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
							"name":             schema.StringAttribute{Optional: true, Description: "A text."},
							"duration_seconds": schema.Int64Attribute{Optional: true, Description: "A number."},
							"tag":              schema.SetAttribute{Optional: true, ElementType: types.StringType, Description: "A set."},
						}},
					},
				},
			},
			"feature": schema.SetNestedBlock{
				Description: "A set of blocks.",
				NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
					"name":    schema.StringAttribute{Optional: true, Description: "A text."},
					"enabled": schema.BoolAttribute{Optional: true, Description: "A truth value."},
				}},
			},
		},
	}
}

// proxyTypes are of the objects in the configuration.
var proxyTypes = map[string]attr.Type{"host": types.StringType, "port": types.NumberType, "no_proxy": types.ListType{ElemType: types.StringType}}

// ValidateConfig refuses one region, so that a test can see an error of the provider's own validation, with its path.
func (p *conformanceProvider) ValidateConfig(ctx context.Context, request provider.ValidateConfigRequest, response *provider.ValidateConfigResponse) {
	var region types.String
	response.Diagnostics.Append(request.Config.GetAttribute(ctx, path.Root("region"), &region)...)
	if region.ValueString() == "invalid" {
		response.Diagnostics.AddAttributeError(path.Root("region"), "Invalid region", "There is no region of that name.")
	}
}

func (p *conformanceProvider) ConfigValidators(context.Context) []provider.ConfigValidator {
	return []provider.ConfigValidator{exactlyOne{where: "region", value: "guarded", of: []string{"token", "old_token"}}}
}

func (p *conformanceProvider) Configure(ctx context.Context, request provider.ConfigureRequest, response *provider.ConfigureResponse) {
	var directory, region, token types.String
	response.Diagnostics.Append(request.Config.GetAttribute(ctx, path.Root("directory"), &directory)...)
	response.Diagnostics.Append(request.Config.GetAttribute(ctx, path.Root("region"), &region)...)
	response.Diagnostics.Append(request.Config.GetAttribute(ctx, path.Root("token"), &token)...)
	if response.Diagnostics.HasError() {
		return
	}
	if token.ValueString() == "refused" {
		response.Diagnostics.AddAttributeError(path.Root("token"), "Token refused", "The service does not accept this token.")
		return
	}

	configured := &cloud{store: &store{directory: directoryOf(directory.ValueString())}, region: region.ValueString()}
	response.ResourceData = configured
	response.DataSourceData = configured
	response.EphemeralResourceData = configured
	response.ListResourceData = configured
	response.ActionData = configured
	if region.ValueString() == "later" && request.ClientCapabilities.DeferralAllowed {
		response.Deferred = &provider.Deferred{Reason: provider.DeferredReasonProviderConfigUnknown}
	}
}

func (p *conformanceProvider) Resources(context.Context) []func() resource.Resource {
	resources := []func() resource.Resource{
		func() resource.Resource { return &recordResource{protocol: p.protocol} },
		func() resource.Resource { return &placeResource{} },
		func() resource.Resource { return newTimedResource("block") },
		newFlakyResource,
		newDiaryResource,
		newPlannerResource,
		newMovableResource,
		newNomadResource,
		newDeferredResource,
		newAuditedResource,
		func() resource.Resource { return newVersionedResource(p.ages.schema) },
		func() resource.Resource { return newPassportResource(p.ages.identity) },
		func() resource.Resource { return newVaultResource(p.protocol) },
	}
	if p.isCrossed {
		resources = append(resources, newCrossedResource)
	}
	for kind, make := range attributeKinds {
		resources = append(resources, newAttributeResource(kind, make))
	}
	for nesting, make := range blockNestings {
		resources = append(resources, newBlockResource(nesting, make))
	}
	if p.protocol == 6 {
		// Nested attributes do not exist in protocol 5.
		resources = append(resources,
			func() resource.Resource { return &nestedResource{} },
			func() resource.Resource { return newTimedResource("attribute") },
		)
		for kind, make := range nestedAttributeKinds {
			resources = append(resources, newAttributeResource(kind, make))
		}
	}
	return resources
}

func (p *conformanceProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		func() datasource.DataSource { return &lookupDataSource{} },
		func() datasource.DataSource { return &laterDataSource{} },
	}
}

func (p *conformanceProvider) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{
		func() ephemeral.EphemeralResource { return &leaseEphemeral{} },
		func() ephemeral.EphemeralResource { return &sessionEphemeral{} },
	}
}

func (p *conformanceProvider) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{
		func() list.ListResource { return &placeList{} },
		func() list.ListResource { return newPassportList(p.ages.identity) },
		func() list.ListResource { return &legacyList{} },
	}
}

func (p *conformanceProvider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{
		func() function.Function { return &joinWordsFunction{} },
		func() function.Function { return &shoutFunction{} },
	}
}

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
