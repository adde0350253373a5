package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

const legacyShapesKind = "legacy_shapes"

// legacyShapes has what the older SDK makes of its schemas, where that is not what it looks like: attributes that are written as
// blocks, blocks that are attributes, a name that excludes its prefix. What an object is lies in its state alone; its file says
// that it exists.
func legacyShapes() *schema.Resource {
	text := &schema.Schema{Type: schema.TypeString}
	leaf := func() *schema.Resource {
		return &schema.Resource{Schema: map[string]*schema.Schema{
			"label":  {Type: schema.TypeString, Optional: true},
			"serial": {Type: schema.TypeString, Computed: true},
		}}
	}
	deeper := leaf()
	deeper.Schema["inner"] = &schema.Schema{Type: schema.TypeList, Optional: true, MaxItems: 1, Elem: leaf()}
	deeper.Schema["inner_set"] = &schema.Schema{Type: schema.TypeSet, Optional: true, Elem: leaf()}

	return &schema.Resource{
		Description:        "Schemas of the older SDK.",
		DeprecationMessage: "Nobody should use it.",
		Schema: map[string]*schema.Schema{
			"name":        {Type: schema.TypeString, Optional: true, Computed: true, ForceNew: true, ConflictsWith: []string{"name_prefix"}},
			"name_prefix": {Type: schema.TypeString, Optional: true, Computed: true, ForceNew: true, ConflictsWith: []string{"name"}},
			"count_of":    {Type: schema.TypeInt, Optional: true, Default: 3, Description: "A number with a default."},
			"ratio":       {Type: schema.TypeFloat, Optional: true, Description: "A number that need not be whole."},
			"labels":      {Type: schema.TypeMap, Optional: true, Description: "A map of what it does not say."},
			"counts":      {Type: schema.TypeMap, Optional: true, Elem: &schema.Schema{Type: schema.TypeInt}},
			"alias":       {Type: schema.TypeSet, Optional: true, Elem: text},
			"grid":        {Type: schema.TypeList, Optional: true, Elem: &schema.Schema{Type: schema.TypeList, Elem: text}},
			"secret":      {Type: schema.TypeString, Optional: true, Sensitive: true},
			"secret_wo":   {Type: schema.TypeString, Optional: true, WriteOnly: true, Description: "A write-only text."},
			"old":         {Type: schema.TypeString, Optional: true, Deprecated: "Use `labels` instead."},
			"at_least":    {Type: schema.TypeList, Required: true, MinItems: 1, Elem: leaf(), Description: "At least one block."},
			"at_most":     {Type: schema.TypeList, Optional: true, MaxItems: 1, Elem: deeper, Description: "At most one block, with the same inside."},
			"at_most_set": {Type: schema.TypeSet, Optional: true, MaxItems: 1, Elem: leaf(), Description: "At most one block, of a set."},
			"several":     {Type: schema.TypeSet, Optional: true, MinItems: 0, MaxItems: 3, Elem: leaf()},
			"as_attribute": {
				Type: schema.TypeList, Optional: true, Computed: true, ConfigMode: schema.SchemaConfigModeAttr, Elem: leaf(),
				Description: "A list of blocks that goes as an attribute of objects.",
			},
			"chosen_one": {
				Type: schema.TypeList, Optional: true, Computed: true, MaxItems: 1, Elem: leaf(),
				Description: "At most one block, which the provider may make up: optional and computed, and a block all the same.",
			},
			"made": {Type: schema.TypeList, Computed: true, Elem: leaf(), Description: "Computed blocks go as an attribute, too."},
		},
		Importer:      &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughContext},
		CreateContext: createLegacyShapes,
		ReadContext:   readLegacyShapes,
		UpdateContext: readLegacyShapes,
		DeleteContext: func(_ context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
			return diag.FromErr(storeOf(meta).Remove(legacyShapesKind, data.Id()))
		},
	}
}

func createLegacyShapes(_ context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
	name, _ := data.Get("name").(string)
	if name == "" {
		prefix, _ := data.Get("name_prefix").(string)
		name = prefix + "made-up"
	}
	id, err := storeOf(meta).Create(legacyShapesKind, name, func(id string) any { return map[string]string{"id": id} })
	if err != nil {
		return diag.FromErr(err)
	}
	data.SetId(id)
	if err := data.Set("name", name); err != nil {
		return diag.FromErr(err)
	}
	// A computed list that nobody fills is planned anew for ever.
	for _, list := range []string{"made", "as_attribute", "chosen_one"} {
		if length, _ := data.Get(list + ".#").(int); length > 0 {
			continue
		}
		if err := data.Set(list, []any{map[string]any{"label": "made up", "serial": "made up"}}); err != nil {
			return diag.FromErr(err)
		}
	}
	return nil
}

func readLegacyShapes(_ context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
	var object map[string]string
	found, err := storeOf(meta).Read(legacyShapesKind, data.Id(), &object)
	if err == nil && !found {
		data.SetId("")
	}
	return diag.FromErr(err)
}
