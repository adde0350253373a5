package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	listschema "github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"isthmus/tests/provider/raw"
)

// passportList lists passports, with filters, limits, and troubles on request.
type passportList struct {
	passport *passportResource
}

var (
	_ list.ListResourceWithConfigure      = (*passportList)(nil)
	_ list.ListResourceWithValidateConfig = (*passportList)(nil)
)

type passportListModel struct {
	Prefix  types.String `tfsdk:"prefix"`
	Trouble types.String `tfsdk:"trouble"`
	Filters []struct {
		Names []types.String `tfsdk:"names"`
	} `tfsdk:"filter"`
}

func newPassportList(version int64) list.ListResource {
	return &passportList{&passportResource{version: version, keeper: keeper{kind: passportKind, schema: passportSchema}}}
}

func (p *passportList) Metadata(ctx context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	p.passport.Metadata(ctx, request, response)
}

func (p *passportList) Configure(ctx context.Context, request resource.ConfigureRequest, response *resource.ConfigureResponse) {
	p.passport.Configure(ctx, request, response)
}

func (*passportList) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, response *list.ListResourceSchemaResponse) {
	response.Schema = listschema.Schema{
		Description: "Lists passports in the order of their ids.",
		Attributes: map[string]listschema.Attribute{
			"prefix": listschema.StringAttribute{Optional: true, Description: "What their names begin with; `invalid` is refused."},
			"trouble": listschema.StringAttribute{
				Optional:    true,
				Description: "`warn` on each result, `error` instead of results, `error-later` instead of the second result, `nameless` results.",
			},
		},
		Blocks: map[string]listschema.Block{
			"filter": listschema.ListNestedBlock{
				Description: "Each filter has to let a passport through.",
				NestedObject: listschema.NestedBlockObject{Attributes: map[string]listschema.Attribute{
					"names": listschema.ListAttribute{Required: true, ElementType: types.StringType, Description: "Names that it lets through."},
				}},
			},
		},
	}
}

func (*passportList) ValidateListResourceConfig(ctx context.Context, request list.ValidateConfigRequest, response *list.ValidateConfigResponse) {
	var prefix types.String
	response.Diagnostics.Append(request.Config.GetAttribute(ctx, path.Root("prefix"), &prefix)...)
	if prefix.ValueString() == "invalid" {
		response.Diagnostics.AddAttributeError(path.Root("prefix"), "Invalid prefix", "No passport's name begins with this.")
	}
}

func (p *passportList) List(ctx context.Context, request list.ListRequest, stream *list.ListResultsStream) {
	var config passportListModel
	diagnostics := request.Config.Get(ctx, &config)
	ids, err := p.passport.cloud.objects().IDs(passportKind)
	addError(&diagnostics, "The passports could not be listed", err)
	if config.Trouble.ValueString() == "error" {
		diagnostics.AddError("Listing refused", "This was asked for.")
	}
	if diagnostics.HasError() {
		stream.Results = list.ListResultsStreamDiagnostics(diagnostics)
		return
	}

	stream.Results = func(push func(list.ListResult) bool) {
		var sent int64
		for _, id := range ids {
			if request.Limit > 0 && sent == request.Limit {
				return
			}
			result := request.NewListResult(ctx)
			if config.Trouble.ValueString() == "error-later" && sent == 1 {
				result.Diagnostics.AddError("Listing broken off", "This was asked for.")
				push(result)
				return
			}
			if p.describe(ctx, id, config, request.IncludeResource, &result) {
				if !push(result) {
					return
				}
				sent++
			}
		}
	}
}

// describe fills in the result of a passport, unless it is none that is asked for.
func (p *passportList) describe(ctx context.Context, id string, config passportListModel, whole bool, result *list.ListResult) bool {
	members, err := p.passport.find(ctx, id)
	if err != nil || members == nil {
		addError(&result.Diagnostics, "A passport could not be read", err)
		return err != nil
	}
	name := raw.Text(members["name"])
	if !strings.HasPrefix(name, config.Prefix.ValueString()) {
		return false
	}
	for _, filter := range config.Filters {
		if !slices.ContainsFunc(filter.Names, func(allowed types.String) bool { return allowed.ValueString() == name }) {
			return false
		}
	}
	switch config.Trouble.ValueString() {
	case "warn":
		result.Diagnostics.Append(diag.NewWarningDiagnostic("Listing doubtful", fmt.Sprintf("This was asked for, about %s.", id)))
		result.DisplayName = "Passport of " + name
	case "nameless":
	default:
		result.DisplayName = "Passport of " + name
	}
	result.Identity.Raw = p.passport.identity(ctx, id, members)
	if whole {
		result.Resource.Raw = tftypes.NewValue(result.Resource.Raw.Type(), members)
	}
	return true
}
