package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

const legacyMetadataKind = "legacy_metadata"

// legacyMetadata has its name in a block, as what Kubernetes has. Its id is that name, so no two can have the same one.
func legacyMetadata() *schema.Resource {
	return &schema.Resource{
		Description: "Has its name in a block, and shares it with no other.",
		Importer:    &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughContext},
		Schema: map[string]*schema.Schema{
			"metadata": {
				Type: schema.TypeList, Required: true, ForceNew: true, MaxItems: 1, Description: "What it is known by.",
				Elem: &schema.Resource{Schema: map[string]*schema.Schema{
					"name": {Type: schema.TypeString, Optional: true, Computed: true, ForceNew: true, Description: "The id."},
				}},
			},
			"type": {Type: schema.TypeString, Optional: true, ForceNew: true, Description: "What replaces it."},
		},
		CreateContext: func(_ context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
			name, _ := data.Get("metadata.0.name").(string)
			var former legacyKept
			found, err := storeOf(meta).Read(legacyMetadataKind, name, &former)
			if found {
				return diag.Errorf("%q already exists", name)
			}
			if err == nil {
				data.SetId(name)
				state := map[string]any{"type": data.Get("type")}
				err = storeOf(meta).Write(legacyMetadataKind, name, legacyKept{ID: name, Revision: 1, State: state})
			}
			return diag.FromErr(err)
		},
		ReadContext: func(_ context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
			var object legacyKept
			found, err := storeOf(meta).Read(legacyMetadataKind, data.Id(), &object)
			if err != nil {
				return diag.FromErr(err)
			}
			if !found {
				data.SetId("")
				return nil
			}
			if err := data.Set("metadata", []any{map[string]any{"name": data.Id()}}); err != nil {
				return diag.FromErr(err)
			}
			return diag.FromErr(data.Set("type", object.State["type"]))
		},
		DeleteContext: func(_ context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
			return diag.FromErr(storeOf(meta).Remove(legacyMetadataKind, data.Id()))
		},
	}
}
