package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"isthmus/tests/provider/raw"
)

// vaultResource has write-only attributes of several shapes, which are written when their version changes. The object's file notes
// what arrived.
type vaultResource struct {
	keeper
	protocol int
}

var (
	_ resource.ResourceWithConfigure   = (*vaultResource)(nil)
	_ resource.ResourceWithImportState = (*vaultResource)(nil)
)

// vaultWriteOnly are the top-level attributes that are, or hold, something write-only.
var vaultWriteOnly = []string{"secret_wo", "count_wo", "words_wo", "map_wo", "anything_wo", "door", "box"}

func newVaultResource(protocol int) resource.Resource {
	return &vaultResource{protocol: protocol, keeper: keeper{kind: "vault", schema: func(context.Context) schema.Schema {
		return vaultSchema(protocol)
	}}}
}

func vaultSchema(protocol int) schema.Schema {
	inside := func() map[string]schema.Attribute {
		return map[string]schema.Attribute{
			"label":   schema.StringAttribute{Optional: true, Description: "Kept in state."},
			"code_wo": schema.StringAttribute{Optional: true, WriteOnly: true, Description: "Write-only inside."},
		}
	}
	attributes := map[string]schema.Attribute{
		"secret_wo": schema.StringAttribute{Optional: true, WriteOnly: true, Sensitive: true, Description: "A text."},
		"secret_wo_version": schema.Int64Attribute{
			Optional: true, Description: "Change it to have all that is write-only written again.",
		},
		"count_wo":    schema.Int64Attribute{Optional: true, WriteOnly: true, Description: "A number."},
		"words_wo":    schema.ListAttribute{Optional: true, WriteOnly: true, ElementType: types.StringType, Description: "A list."},
		"map_wo":      schema.MapAttribute{Optional: true, WriteOnly: true, ElementType: types.StringType, Description: "A map."},
		"anything_wo": schema.DynamicAttribute{Optional: true, WriteOnly: true, Description: "A value of any type."},
		"rotation": schema.Int64Attribute{
			Optional: true, Description: "Change it to have the vault replaced.",
			PlanModifiers: []planmodifier.Int64{int64planmodifier.RequiresReplace()},
		},
	}
	if protocol == 6 {
		attributes["box"] = schema.SingleNestedAttribute{
			Optional: true, Description: "A nested attribute with something write-only inside.", Attributes: inside(),
		}
	}
	return schema.Schema{
		Description: "Write-only attributes with a version.",
		Attributes:  keeperAttributes(attributes),
		Blocks: map[string]schema.Block{
			"door": schema.ListNestedBlock{
				Description:  "A block with something write-only inside.",
				NestedObject: schema.NestedBlockObject{Attributes: inside()},
			},
		},
	}
}

func (v *vaultResource) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	v.create(ctx, request, response, noteWritten(ctx, request.Config, &response.Diagnostics))
}

func (v *vaultResource) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	var before, after types.Int64
	response.Diagnostics.Append(request.State.GetAttribute(ctx, path.Root("secret_wo_version"), &before)...)
	response.Diagnostics.Append(request.Plan.GetAttribute(ctx, path.Root("secret_wo_version"), &after)...)
	if response.Diagnostics.HasError() {
		return
	}
	if before.Equal(after) {
		v.keeper.Update(ctx, request, response)
	} else {
		v.update(ctx, request, response, noteWritten(ctx, request.Config, &response.Diagnostics))
	}
}

// noteWritten notes all that is write-only, as it is in the configuration.
func noteWritten(ctx context.Context, config tfsdk.Config, diagnostics *diag.Diagnostics) finish {
	return func(object *keptObject, _ map[string]tftypes.Value) {
		of, _ := config.Schema.Type().TerraformType(ctx).(tftypes.Object)
		members, _ := raw.Members(config.Raw)
		written := map[string]any{}
		for _, name := range vaultWriteOnly {
			value, found := members[name]
			if !found || value.IsNull() {
				continue
			}
			content, err := raw.ToJSON(of.AttributeTypes[name], value)
			addError(diagnostics, "What was written cannot be noted", err)
			written[name] = content
		}
		object.note("written", written)
	}
}
