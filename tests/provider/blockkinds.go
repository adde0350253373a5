package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
)

// blockFlavours are the blocks of each resource `conformance_block_NESTING`; blocks know neither defaults nor computing.
var blockFlavours = []flavour{
	{name: "plain", description: "What the program says."},
	{name: "fixed", replaces: true, description: "RequiresReplace, as a whole."},
	{name: "fixed_if_strict", replacesIf: true, description: "RequiresReplaceIf `strict` is true, as a whole."},
}

// blockNestings make a block, with one more inside of the plain ones.
var blockNestings = map[string]func(flavour) schema.Block{
	"list": func(f flavour) schema.Block {
		return schema.ListNestedBlock{
			Description:  f.description,
			NestedObject: schema.NestedBlockObject{Attributes: blockMembers(f), Blocks: innerBlocks(f, true)},
			PlanModifiers: modifiers(f, nil,
				listplanmodifier.RequiresReplace(),
				listplanmodifier.RequiresReplaceIf(func(ctx context.Context, request planmodifier.ListRequest, response *listplanmodifier.RequiresReplaceIfFuncResponse) {
					response.RequiresReplace = isStrict(ctx, request.Config, &response.Diagnostics)
				}, strictDescription, strictDescription),
				nil,
			),
		}
	},
	"set": func(f flavour) schema.Block {
		// As with nested attributes, sets have no default inside.
		members := blockMembers(f)
		members["level"] = levelAttribute(false)
		return schema.SetNestedBlock{
			Description:  f.description,
			NestedObject: schema.NestedBlockObject{Attributes: members, Blocks: innerBlocks(f, false)},
			PlanModifiers: modifiers(f, nil,
				setplanmodifier.RequiresReplace(),
				setplanmodifier.RequiresReplaceIf(func(ctx context.Context, request planmodifier.SetRequest, response *setplanmodifier.RequiresReplaceIfFuncResponse) {
					response.RequiresReplace = isStrict(ctx, request.Config, &response.Diagnostics)
				}, strictDescription, strictDescription),
				nil,
			),
		}
	},
	"single": func(f flavour) schema.Block {
		return schema.SingleNestedBlock{
			Description: f.description, Attributes: blockMembers(f), Blocks: innerBlocks(f, true),
			PlanModifiers: modifiers(f, nil,
				objectplanmodifier.RequiresReplace(),
				objectplanmodifier.RequiresReplaceIf(func(ctx context.Context, request planmodifier.ObjectRequest, response *objectplanmodifier.RequiresReplaceIfFuncResponse) {
					response.RequiresReplace = isStrict(ctx, request.Config, &response.Diagnostics)
				}, strictDescription, strictDescription),
				nil,
			),
		}
	},
}

// newBlockResource has one block of each flavour.
func newBlockResource(nesting string, make func(flavour) schema.Block) func() resource.Resource {
	return func() resource.Resource {
		return &keeper{kind: "block_" + nesting, schema: func(context.Context) schema.Schema {
			blocks := map[string]schema.Block{}
			for _, flavour := range blockFlavours {
				blocks[flavour.name] = make(flavour)
			}
			return schema.Schema{
				Description: "Blocks of one nesting in all flavours: " + nesting + ".",
				Attributes:  keeperAttributes(map[string]schema.Attribute{"strict": strictAttribute}),
				Blocks:      blocks,
			}
		}}
	}
}

// blockMembers are plain ones, where the block as a whole replaces: else everything computed in it would.
func blockMembers(f flavour) map[string]schema.Attribute {
	members := map[string]schema.Attribute{
		"text":  schema.StringAttribute{Optional: true, Description: "What the program says."},
		"level": levelAttribute(true),
	}
	if f.replaces || f.replacesIf {
		return members
	}
	members["kept"] = schema.StringAttribute{
		Optional: true, Computed: true, Description: "What it was where the program is silent.",
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseNonNullStateForUnknown()},
	}
	members["made"] = schema.StringAttribute{Computed: true, Description: "`made of TEXT`."}
	members["fixed"] = schema.StringAttribute{
		Optional: true, Description: "RequiresReplace, inside.",
		PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
	}
	return members
}

// innerBlocks are two more levels of sets, for the plain flavour alone. Inside of a set they hold nothing computed: core does not
// propose what was computed in a set of a set, and the framework would plan it anew for ever.
func innerBlocks(f flavour, withComputed bool) map[string]schema.Block {
	if f.replaces || f.replacesIf {
		return nil
	}
	member := func() map[string]schema.Attribute {
		members := map[string]schema.Attribute{
			"text": schema.StringAttribute{Optional: true, Description: "What the program says."},
		}
		if withComputed {
			members["made"] = schema.StringAttribute{Computed: true, Description: "`made of TEXT`."}
		}
		return members
	}
	return map[string]schema.Block{
		"inner": schema.SetNestedBlock{
			Description: "A set inside.",
			NestedObject: schema.NestedBlockObject{Attributes: member(), Blocks: map[string]schema.Block{
				"innermost": schema.SetNestedBlock{
					Description:  "A set inside of a set.",
					NestedObject: schema.NestedBlockObject{Attributes: member()},
				},
			}},
		},
	}
}
