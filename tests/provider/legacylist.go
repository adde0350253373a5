package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/list"
	listschema "github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// legacyList lists resources of the older SDK, which has no list resources of its own: the framework's lists them, with the SDK's
// schemas. All providers that move from one to the other have such.
type legacyList struct {
	cloud *cloud
}

var (
	_ list.ListResourceWithConfigure    = (*legacyList)(nil)
	_ list.ListResourceWithRawV5Schemas = (*legacyList)(nil)
	_ list.ListResourceWithRawV6Schemas = (*legacyList)(nil)
)

func (*legacyList) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_legacy_identified"
}

func (l *legacyList) Configure(_ context.Context, request resource.ConfigureRequest, response *resource.ConfigureResponse) {
	configured, err := cloudOf(request.ProviderData)
	addError(&response.Diagnostics, "Provider data", err)
	l.cloud = configured
}

func (*legacyList) RawV5Schemas(ctx context.Context, _ list.RawV5SchemaRequest, response *list.RawV5SchemaResponse) {
	response.ProtoV5Schema = legacyIdentified().ProtoSchema(ctx)()
	response.ProtoV5IdentitySchema = legacyIdentified().ProtoIdentitySchema(ctx)()
}

// RawV6Schemas says the same in the words of protocol 6; the resource has attributes only.
func (*legacyList) RawV6Schemas(ctx context.Context, _ list.RawV6SchemaRequest, response *list.RawV6SchemaResponse) {
	schema := legacyIdentified().ProtoSchema(ctx)()
	response.ProtoV6Schema = &tfprotov6.Schema{Version: schema.Version, Block: &tfprotov6.SchemaBlock{Version: schema.Block.Version}}
	for _, attribute := range schema.Block.Attributes {
		response.ProtoV6Schema.Block.Attributes = append(response.ProtoV6Schema.Block.Attributes, &tfprotov6.SchemaAttribute{
			Name: attribute.Name, Type: attribute.Type, Description: attribute.Description,
			Required: attribute.Required, Optional: attribute.Optional, Computed: attribute.Computed,
		})
	}
	identity := legacyIdentified().ProtoIdentitySchema(ctx)()
	response.ProtoV6IdentitySchema = &tfprotov6.ResourceIdentitySchema{Version: identity.Version}
	for _, attribute := range identity.IdentityAttributes {
		response.ProtoV6IdentitySchema.IdentityAttributes = append(response.ProtoV6IdentitySchema.IdentityAttributes, &tfprotov6.ResourceIdentitySchemaAttribute{
			Name: attribute.Name, Type: attribute.Type, Description: attribute.Description,
			RequiredForImport: attribute.RequiredForImport, OptionalForImport: attribute.OptionalForImport,
		})
	}
}

func (*legacyList) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, response *list.ListResourceSchemaResponse) {
	response.Schema = listschema.Schema{
		Description: "Lists resources of the older SDK.",
		Attributes: map[string]listschema.Attribute{
			"zone": listschema.StringAttribute{Optional: true, Description: "Only those of this zone."},
		},
	}
}

func (l *legacyList) List(ctx context.Context, request list.ListRequest, stream *list.ListResultsStream) {
	var config struct {
		Zone types.String `tfsdk:"zone"`
	}
	diagnostics := request.Config.Get(ctx, &config)
	ids, err := l.cloud.objects().IDs("legacy_identified")
	if addError(&diagnostics, "The resources could not be listed", err); diagnostics.HasError() {
		stream.Results = list.ListResultsStreamDiagnostics(diagnostics)
		return
	}
	stream.Results = func(push func(list.ListResult) bool) {
		var sent int64
		for _, id := range ids {
			if request.Limit > 0 && sent == request.Limit {
				return
			}
			var object legacyKept
			result := request.NewListResult(ctx)
			found, err := l.cloud.objects().Read("legacy_identified", id, &object)
			addError(&result.Diagnostics, "A resource could not be read", err)
			zone, _ := object.State["zone"].(string)
			if err == nil && (!found || !config.Zone.IsNull() && config.Zone.ValueString() != zone) {
				continue
			}
			result.DisplayName = id
			text := func(value any) tftypes.Value { return tftypes.NewValue(tftypes.String, value) }
			result.Identity.Raw = tftypes.NewValue(result.Identity.Raw.Type(), map[string]tftypes.Value{"id": text(id), "zone": text(zone)})
			if request.IncludeResource {
				result.Resource.Raw = tftypes.NewValue(result.Resource.Raw.Type(), map[string]tftypes.Value{
					"id": text(id), "name": text(object.State["name"]), "zone": text(zone), "value": text(object.State["value"]),
				})
			}
			if !push(result) {
				return
			}
			sent++
		}
	}
}
