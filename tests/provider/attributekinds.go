package main

import (
	"context"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/dynamicdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/dynamicplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/float32default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/float32planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/float64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/float64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int32default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int32planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/numberdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/numberplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// attributeKinds are the framework's types that both protocols have, by the names of their resources.
var attributeKinds = map[string]makeAttribute{
	"bool": func(f flavour) schema.Attribute {
		return schema.BoolAttribute{
			Optional: f.optional, Computed: f.computed, Sensitive: f.sensitive, Description: f.description,
			Default: defaultOf(f, booldefault.StaticBool(true)),
			PlanModifiers: modifiers(f,
				boolplanmodifier.UseStateForUnknown(),
				boolplanmodifier.RequiresReplace(),
				boolplanmodifier.RequiresReplaceIf(func(ctx context.Context, request planmodifier.BoolRequest, response *boolplanmodifier.RequiresReplaceIfFuncResponse) {
					response.RequiresReplace = isStrict(ctx, request.Config, &response.Diagnostics)
				}, strictDescription, strictDescription),
				boolplanmodifier.RequiresReplaceIfConfigured(),
			),
		}
	},
	"int32": func(f flavour) schema.Attribute {
		return schema.Int32Attribute{
			Optional: f.optional, Computed: f.computed, Sensitive: f.sensitive, Description: f.description,
			Default: defaultOf(f, int32default.StaticInt32(32)),
			PlanModifiers: modifiers(f,
				int32planmodifier.UseStateForUnknown(),
				int32planmodifier.RequiresReplace(),
				int32planmodifier.RequiresReplaceIf(func(ctx context.Context, request planmodifier.Int32Request, response *int32planmodifier.RequiresReplaceIfFuncResponse) {
					response.RequiresReplace = isStrict(ctx, request.Config, &response.Diagnostics)
				}, strictDescription, strictDescription),
				int32planmodifier.RequiresReplaceIfConfigured(),
			),
		}
	},
	"int64": func(f flavour) schema.Attribute {
		return schema.Int64Attribute{
			Optional: f.optional, Computed: f.computed, Sensitive: f.sensitive, Description: f.description,
			Default: defaultOf(f, int64default.StaticInt64(64)),
			PlanModifiers: modifiers(f,
				int64planmodifier.UseStateForUnknown(),
				int64planmodifier.RequiresReplace(),
				int64planmodifier.RequiresReplaceIf(func(ctx context.Context, request planmodifier.Int64Request, response *int64planmodifier.RequiresReplaceIfFuncResponse) {
					response.RequiresReplace = isStrict(ctx, request.Config, &response.Diagnostics)
				}, strictDescription, strictDescription),
				int64planmodifier.RequiresReplaceIfConfigured(),
			),
		}
	},
	"float32": func(f flavour) schema.Attribute {
		return schema.Float32Attribute{
			Optional: f.optional, Computed: f.computed, Sensitive: f.sensitive, Description: f.description,
			Default: defaultOf(f, float32default.StaticFloat32(0.5)),
			PlanModifiers: modifiers(f,
				float32planmodifier.UseStateForUnknown(),
				float32planmodifier.RequiresReplace(),
				float32planmodifier.RequiresReplaceIf(func(ctx context.Context, request planmodifier.Float32Request, response *float32planmodifier.RequiresReplaceIfFuncResponse) {
					response.RequiresReplace = isStrict(ctx, request.Config, &response.Diagnostics)
				}, strictDescription, strictDescription),
				float32planmodifier.RequiresReplaceIfConfigured(),
			),
		}
	},
	"float64": func(f flavour) schema.Attribute {
		return schema.Float64Attribute{
			Optional: f.optional, Computed: f.computed, Sensitive: f.sensitive, Description: f.description,
			Default: defaultOf(f, float64default.StaticFloat64(1.25)),
			PlanModifiers: modifiers(f,
				float64planmodifier.UseStateForUnknown(),
				float64planmodifier.RequiresReplace(),
				float64planmodifier.RequiresReplaceIf(func(ctx context.Context, request planmodifier.Float64Request, response *float64planmodifier.RequiresReplaceIfFuncResponse) {
					response.RequiresReplace = isStrict(ctx, request.Config, &response.Diagnostics)
				}, strictDescription, strictDescription),
				float64planmodifier.RequiresReplaceIfConfigured(),
			),
		}
	},
	"number": func(f flavour) schema.Attribute {
		return schema.NumberAttribute{
			Optional: f.optional, Computed: f.computed, Sensitive: f.sensitive, Description: f.description,
			Default: defaultOf(f, numberdefault.StaticBigFloat(big.NewFloat(12.75))),
			PlanModifiers: modifiers(f,
				numberplanmodifier.UseStateForUnknown(),
				numberplanmodifier.RequiresReplace(),
				numberplanmodifier.RequiresReplaceIf(func(ctx context.Context, request planmodifier.NumberRequest, response *numberplanmodifier.RequiresReplaceIfFuncResponse) {
					response.RequiresReplace = isStrict(ctx, request.Config, &response.Diagnostics)
				}, strictDescription, strictDescription),
				numberplanmodifier.RequiresReplaceIfConfigured(),
			),
		}
	},
	"string": func(f flavour) schema.Attribute {
		return schema.StringAttribute{
			Optional: f.optional, Computed: f.computed, Sensitive: f.sensitive, Description: f.description,
			Default: defaultOf(f, stringdefault.StaticString("default")),
			PlanModifiers: modifiers(f,
				stringplanmodifier.UseStateForUnknown(),
				stringplanmodifier.RequiresReplace(),
				stringplanmodifier.RequiresReplaceIf(func(ctx context.Context, request planmodifier.StringRequest, response *stringplanmodifier.RequiresReplaceIfFuncResponse) {
					response.RequiresReplace = isStrict(ctx, request.Config, &response.Diagnostics)
				}, strictDescription, strictDescription),
				stringplanmodifier.RequiresReplaceIfConfigured(),
			),
		}
	},
	"list": func(f flavour) schema.Attribute {
		return schema.ListAttribute{
			ElementType: types.StringType,
			Optional:    f.optional, Computed: f.computed, Sensitive: f.sensitive, Description: f.description,
			Default: defaultOf(f, listdefault.StaticValue(types.ListValueMust(types.StringType, texts("default")))),
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
	"set": func(f flavour) schema.Attribute {
		return schema.SetAttribute{
			ElementType: types.StringType,
			Optional:    f.optional, Computed: f.computed, Sensitive: f.sensitive, Description: f.description,
			Default: defaultOf(f, setdefault.StaticValue(types.SetValueMust(types.StringType, texts("default", "other")))),
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
	"map": func(f flavour) schema.Attribute {
		return schema.MapAttribute{
			ElementType: types.StringType,
			Optional:    f.optional, Computed: f.computed, Sensitive: f.sensitive, Description: f.description,
			Default: defaultOf(f, mapdefault.StaticValue(types.MapValueMust(types.StringType, map[string]attr.Value{"key": types.StringValue("default")}))),
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
	"object": func(f flavour) schema.Attribute {
		return schema.ObjectAttribute{
			AttributeTypes: pairTypes,
			Optional:       f.optional, Computed: f.computed, Sensitive: f.sensitive, Description: f.description,
			Default: defaultOf(f, objectdefault.StaticValue(pair("default", 7))),
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
	"dynamic": func(f flavour) schema.Attribute {
		return schema.DynamicAttribute{
			Optional: f.optional, Computed: f.computed, Sensitive: f.sensitive, Description: f.description,
			Default: defaultOf(f, dynamicdefault.StaticValue(types.DynamicValue(types.StringValue("default")))),
			PlanModifiers: modifiers(f,
				dynamicplanmodifier.UseStateForUnknown(),
				dynamicplanmodifier.RequiresReplace(),
				dynamicplanmodifier.RequiresReplaceIf(func(ctx context.Context, request planmodifier.DynamicRequest, response *dynamicplanmodifier.RequiresReplaceIfFuncResponse) {
					response.RequiresReplace = isStrict(ctx, request.Config, &response.Diagnostics)
				}, strictDescription, strictDescription),
				dynamicplanmodifier.RequiresReplaceIfConfigured(),
			),
		}
	},
}

// pairTypes are of the object in conformance_attribute_object.
var pairTypes = map[string]attr.Type{"text": types.StringType, "level": types.Int64Type}

func pair(text string, level int64) types.Object {
	return types.ObjectValueMust(pairTypes, map[string]attr.Value{"text": types.StringValue(text), "level": types.Int64Value(level)})
}

func texts(of ...string) []attr.Value {
	values := []attr.Value{}
	for _, text := range of {
		values = append(values, types.StringValue(text))
	}
	return values
}
