package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
)

// crossed is the variant with the resource of newCrossedResource.
const crossed = "crossed"

// newCrossedResource has a set of blocks, in which a plan modifier writes the configured value into the plan. The framework gives it
// the configuration's element at the index of the planned one: a client whose configuration has its sets in another order than its
// proposed state gets values of one element in another.
func newCrossedResource() resource.Resource {
	return &keeper{kind: crossed, schema: func(context.Context) schema.Schema {
		return schema.Schema{
			Description: "A set of blocks, of which a plan modifier reads the configuration.",
			Attributes:  keeperAttributes(nil),
			Blocks: map[string]schema.Block{
				"group": schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
					"path": schema.StringAttribute{Required: true, Description: "What the element is known by."},
					"tag": schema.StringAttribute{
						Optional: true, Computed: true, Description: "What the program says.",
						PlanModifiers: []planmodifier.String{configuredValue{}},
					},
				}}},
			},
		}
	}}
}

// configuredValue plans what is configured.
type configuredValue struct{}

func (configuredValue) Description(context.Context) string { return "Plans what is configured." }
func (configuredValue) MarkdownDescription(context.Context) string {
	return "Plans what is configured."
}

func (configuredValue) PlanModifyString(_ context.Context, request planmodifier.StringRequest, response *planmodifier.StringResponse) {
	if !request.ConfigValue.IsNull() {
		response.PlanValue = request.ConfigValue
	}
}
