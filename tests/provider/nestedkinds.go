package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// nestedAttributeKinds are those that protocol 6 alone has.
var nestedAttributeKinds = map[string]makeAttribute{
	"list_nested": func(f flavour) schema.Attribute {
		return schema.ListNestedAttribute{
			NestedObject: schema.NestedAttributeObject{Attributes: nestedMembers(f)},
			Optional:     f.optional, Computed: f.computed, Sensitive: f.sensitive, Description: f.description,
			Default: defaultOf(f, listdefault.StaticValue(types.ListValueMust(nestedType, []attr.Value{nestedDefault()}))),
			PlanModifiers: modifiers(f,
				listplanmodifier.UseStateForUnknown(),
				listplanmodifier.RequiresReplace(),
				listplanmodifier.RequiresReplaceIf(func(ctx context.Context, request planmodifier.ListRequest, response *listplanmodifier.RequiresReplaceIfFuncResponse) {
					response.RequiresReplace = isStrict(ctx, request.Config, &response.Diagnostics)
				}, strictDescription, strictDescription),
				listplanmodifier.RequiresReplaceIfConfigured(),
			),
		}
	},
	"set_nested": func(f flavour) schema.Attribute {
		return schema.SetNestedAttribute{
			NestedObject: schema.NestedAttributeObject{Attributes: setMembers(f)},
			Optional:     f.optional, Computed: f.computed, Sensitive: f.sensitive, Description: f.description,
			Default: defaultOf(f, setdefault.StaticValue(types.SetValueMust(nestedType, []attr.Value{nestedDefault()}))),
			PlanModifiers: modifiers(f,
				setplanmodifier.UseStateForUnknown(),
				setplanmodifier.RequiresReplace(),
				setplanmodifier.RequiresReplaceIf(func(ctx context.Context, request planmodifier.SetRequest, response *setplanmodifier.RequiresReplaceIfFuncResponse) {
					response.RequiresReplace = isStrict(ctx, request.Config, &response.Diagnostics)
				}, strictDescription, strictDescription),
				setplanmodifier.RequiresReplaceIfConfigured(),
			),
		}
	},
	"map_nested": func(f flavour) schema.Attribute {
		return schema.MapNestedAttribute{
			NestedObject: schema.NestedAttributeObject{Attributes: nestedMembers(f)},
			Optional:     f.optional, Computed: f.computed, Sensitive: f.sensitive, Description: f.description,
			Default: defaultOf(f, mapdefault.StaticValue(types.MapValueMust(nestedType, map[string]attr.Value{"key": nestedDefault()}))),
			PlanModifiers: modifiers(f,
				mapplanmodifier.UseStateForUnknown(),
				mapplanmodifier.RequiresReplace(),
				mapplanmodifier.RequiresReplaceIf(func(ctx context.Context, request planmodifier.MapRequest, response *mapplanmodifier.RequiresReplaceIfFuncResponse) {
					response.RequiresReplace = isStrict(ctx, request.Config, &response.Diagnostics)
				}, strictDescription, strictDescription),
				mapplanmodifier.RequiresReplaceIfConfigured(),
			),
		}
	},
	"single_nested": func(f flavour) schema.Attribute {
		return schema.SingleNestedAttribute{
			Attributes: nestedMembers(f),
			Optional:   f.optional, Computed: f.computed, Sensitive: f.sensitive, Description: f.description,
			Default: defaultOf(f, objectdefault.StaticValue(nestedDefault())),
			PlanModifiers: modifiers(f,
				objectplanmodifier.UseStateForUnknown(),
				objectplanmodifier.RequiresReplace(),
				objectplanmodifier.RequiresReplaceIf(func(ctx context.Context, request planmodifier.ObjectRequest, response *objectplanmodifier.RequiresReplaceIfFuncResponse) {
					response.RequiresReplace = isStrict(ctx, request.Config, &response.Diagnostics)
				}, strictDescription, strictDescription),
				objectplanmodifier.RequiresReplaceIfConfigured(),
			),
		}
	},
}

// nestedMembers are the attributes inside of a nested attribute. The framework's defaults hold inside only where the program alone says
// what the whole is: where the provider may choose it, they would go before its choice.
func nestedMembers(f flavour) map[string]schema.Attribute {
	if !f.optional {
		return map[string]schema.Attribute{
			"text":  schema.StringAttribute{Computed: true, Description: "A text."},
			"level": schema.Int64Attribute{Computed: true, Description: "A number."},
			"made":  schema.StringAttribute{Computed: true, Description: "A text."},
		}
	}
	members := map[string]schema.Attribute{
		// Where the provider may choose the whole, it has to be free to choose each part: core takes an optional part that has a value
		// for the program's. Inside of a default, the framework would make it unknown again.
		"text":  schema.StringAttribute{Optional: true, Computed: f.computed && !f.defaulted, Description: "What the program says."},
		"level": levelAttribute(!f.computed || f.defaulted),
	}
	made := schema.StringAttribute{Computed: true, Description: "`made of TEXT`, kept where the element is the same."}
	if !f.defaulted {
		made.PlanModifiers = []planmodifier.String{stringplanmodifier.UseNonNullStateForUnknown()}
	}
	members["made"] = made
	return members
}

// levelAttribute is a number with a default, or what the provider chooses.
func levelAttribute(withDefault bool) schema.Attribute {
	level := schema.Int64Attribute{Optional: true, Computed: true, Description: "7 where the program is silent."}
	if withDefault {
		level.Default = int64default.StaticInt64(defaultLevel)
	} else {
		level.PlanModifiers = []planmodifier.Int64{int64planmodifier.UseNonNullStateForUnknown()}
	}
	return level
}

// setMembers are those of a set's elements, without a default: the framework looks for the element's configuration by the element as it
// is proposed, finds none, and lets the default go before what the program says.
func setMembers(f flavour) map[string]schema.Attribute {
	members := nestedMembers(f)
	if f.optional {
		members["level"] = levelAttribute(f.defaulted)
	}
	return members
}

var nestedType = types.ObjectType{AttrTypes: nestedTypes}

var nestedTypes = map[string]attr.Type{"text": types.StringType, "level": types.Int64Type, "made": types.StringType}

// nestedDefault is a default with nothing left to be computed.
func nestedDefault() types.Object {
	return types.ObjectValueMust(nestedTypes, map[string]attr.Value{
		"text": types.StringValue("default"), "level": types.Int64Value(defaultLevel), "made": types.StringValue("made of default"),
	})
}
