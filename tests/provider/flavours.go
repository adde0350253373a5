package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// flavour is one way to treat an attribute, whatever its type.
type flavour struct {
	name, description                                             string
	optional, computed, sensitive                                 bool
	defaulted, kept, replaces, replacesIf, replacesWhenConfigured bool
}

// flavours are the attributes of each resource `conformance_attribute_TYPE`. The names are the same for all types, so that generated
// tests can walk them.
var flavours = []flavour{
	{name: "plain", optional: true, description: "What the program says, or null."},
	{name: "secret", optional: true, sensitive: true, description: "The same, but sensitive."},
	{name: "defaulted", optional: true, computed: true, defaulted: true, description: "A default where the program is silent."},
	{name: "kept", optional: true, computed: true, kept: true, description: "UseStateForUnknown: what it was where the program is silent."},
	{name: "chosen", optional: true, computed: true, description: "Unknown in every change where the program is silent."},
	{name: "made", computed: true, kept: true, description: "Computed once."},
	{name: "fresh", computed: true, description: "Computed on every write, always different."},
	{name: "fixed", optional: true, replaces: true, description: "RequiresReplace."},
	{name: "fixed_kept", optional: true, computed: true, kept: true, replaces: true, description: "UseStateForUnknown and RequiresReplace."},
	{name: "fixed_if_strict", optional: true, replacesIf: true, description: "RequiresReplaceIf `strict` is true."},
	{
		name: "fixed_if_configured", optional: true, computed: true, kept: true, replacesWhenConfigured: true,
		description: "RequiresReplaceIfConfigured: to remove it from the program replaces nothing.",
	},
}

// makeAttribute makes an attribute of one type in a flavour.
type makeAttribute func(flavour) schema.Attribute

// newAttributeResource has one attribute of each flavour.
func newAttributeResource(kind string, make makeAttribute) func() resource.Resource {
	return func() resource.Resource {
		return &keeper{kind: "attribute_" + kind, schema: func(context.Context) schema.Schema {
			attributes := map[string]schema.Attribute{"strict": strictAttribute}
			for _, flavour := range flavours {
				attributes[flavour.name] = make(flavour)
			}
			return schema.Schema{
				Description: "Attributes of one type in all flavours: " + kind + ".",
				Attributes:  keeperAttributes(attributes),
			}
		}}
	}
}

var strictAttribute = schema.BoolAttribute{Optional: true, Description: "Whether the attributes `fixed_if_strict` replace."}

const strictDescription = "Replaces if `strict` is true."

// isStrict is the condition of each RequiresReplaceIf; an unknown `strict` is none.
func isStrict(ctx context.Context, config tfsdk.Config, diagnostics *diag.Diagnostics) bool {
	var strict types.Bool
	diagnostics.Append(config.GetAttribute(ctx, path.Root("strict"), &strict)...)
	return strict.ValueBool()
}

// modifiers are those plan modifiers that a flavour has; each type has its own of the same names.
func modifiers[M any](f flavour, keep, replace, replaceIf, replaceWhenConfigured M) []M {
	var chosen []M
	for _, each := range []struct {
		wanted   bool
		modifier M
	}{{f.kept, keep}, {f.replaces, replace}, {f.replacesIf, replaceIf}, {f.replacesWhenConfigured, replaceWhenConfigured}} {
		if each.wanted {
			chosen = append(chosen, each.modifier)
		}
	}
	return chosen
}

// defaultOf is the default of a flavour that has one.
func defaultOf[D any](f flavour, value D) D {
	var none D
	if f.defaulted {
		return value
	}
	return none
}
