package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

// legacyImported has an importer with several results: `all:ID,ID` is an object each, `none:` is none, `other:ID` is a
// conformance_legacy instead, `with:ID,ID` is an object and a conformance_legacy, `error:` fails, and any other id is one object.
func legacyImported() *schema.Resource {
	keeper := &legacyKeeper{
		kind: "legacy_imported",
		schema: map[string]*schema.Schema{
			"value": {Type: schema.TypeString, Optional: true, Description: "Something to change."},
		},
	}
	described := &schema.Resource{Description: "Imports as many objects as it is asked for."}
	described.Importer = &schema.ResourceImporter{
		StateContext: func(_ context.Context, data *schema.ResourceData, _ any) ([]*schema.ResourceData, error) {
			how, rest, found := strings.Cut(data.Id(), ":")
			if !found {
				return []*schema.ResourceData{data}, nil
			}
			imported := []*schema.ResourceData{}
			for id := range strings.SplitSeq(rest, ",") {
				one := described.Data(nil)
				if how == "other" || how == "with" && len(imported) == 1 {
					one = legacyResource().Data(nil)
					one.SetType("conformance_legacy")
				} else {
					one.SetType("conformance_legacy_imported")
				}
				one.SetId(id)
				imported = append(imported, one)
			}
			switch how {
			case "all", "other", "with":
				return imported, nil
			case "none":
				return nil, nil
			default:
				return nil, fmt.Errorf("nothing can be imported by %q", data.Id())
			}
		},
	}
	return keeper.resource(described)
}

// legacyIdentified has an identity, of version 1; in version 0 its `id` was called `code`.
func legacyIdentified() *schema.Resource {
	keeper := &legacyKeeper{
		kind: "legacy_identified",
		schema: map[string]*schema.Schema{
			"zone":  {Type: schema.TypeString, Optional: true, ForceNew: true, Description: "A part of the identity."},
			"value": {Type: schema.TypeString, Optional: true, Description: "Something to change."},
		},
	}
	keeper.identify = func(data *schema.ResourceData, object legacyKept) error {
		identity, err := data.Identity()
		if err != nil {
			return err
		}
		if err := identity.Set("id", object.ID); err != nil {
			return err
		}
		return identity.Set("zone", object.State["zone"])
	}
	return keeper.resource(&schema.Resource{
		Description: "A resource of the older SDK with an identity.",
		Identity: &schema.ResourceIdentity{
			Version: 1,
			SchemaFunc: func() map[string]*schema.Schema {
				return map[string]*schema.Schema{
					"id":   {Type: schema.TypeString, RequiredForImport: true, Description: "The id."},
					"zone": {Type: schema.TypeString, OptionalForImport: true, Description: "The zone."},
				}
			},
			IdentityUpgraders: []schema.IdentityUpgrader{{
				Version: 0,
				Type: tftypes.Object{AttributeTypes: map[string]tftypes.Type{
					"code": tftypes.String, "zone": tftypes.String,
				}},
				Upgrade: func(_ context.Context, identity map[string]any, _ any) (map[string]any, error) {
					identity["id"] = identity["code"]
					delete(identity, "code")
					return identity, nil
				},
			}},
		},
		Importer: &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughWithIdentity("id")},
	})
}
