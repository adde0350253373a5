package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/go-cty/cty"
	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/customdiff"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

// legacyPlanned is all that the older SDK can do to a plan.
func legacyPlanned() *schema.Resource {
	optional := func(description string) *schema.Schema {
		return &schema.Schema{Type: schema.TypeString, Optional: true, Description: description}
	}
	with := func(described *schema.Schema, change func(*schema.Schema)) *schema.Schema {
		change(described)
		return described
	}
	keeper := &legacyKeeper{
		kind: "legacy_planned",
		schema: map[string]*schema.Schema{
			"tier":  {Type: schema.TypeInt, Optional: true, Default: 1, Description: "A default; CustomizeDiff replaces where it goes down."},
			"seed":  optional("CustomizeDiff makes the token unknown where it changes."),
			"token": {Type: schema.TypeString, Computed: true, Description: "Made from the seed."},
			"value": optional("Something to change."),
			"summary": {
				Type: schema.TypeString, Computed: true, Description: "CustomizeDiff plans it as `summary of VALUE`.",
			},
			"fixed": with(optional("ForceNew."), func(s *schema.Schema) { s.ForceNew = true }),
			"case_blind": with(optional("DiffSuppressFunc: upper and lower case are the same."), func(s *schema.Schema) {
				s.DiffSuppressFunc = func(_, before, after string, _ *schema.ResourceData) bool { return strings.EqualFold(before, after) }
			}),
			"hashed": with(optional("StateFunc: the state has its hash."), func(s *schema.Schema) {
				s.StateFunc = hashOf
			}),
			"from_environment": with(optional("DefaultFunc: CONFORMANCE_DEFAULT, or `unset`."), func(s *schema.Schema) {
				s.DefaultFunc = schema.EnvDefaultFunc("CONFORMANCE_DEFAULT", "unset")
			}),
			"chosen":  {Type: schema.TypeString, Optional: true, Computed: true, Description: "`chosen` where the program is silent."},
			"on_plan": optional("`error` of CustomizeDiff."),
			"module":  {Type: schema.TypeString, Computed: true, Description: "What provider meta called the module at the last write."},
		},
		finish: func(data *schema.ResourceData, object *legacyKept) {
			object.State["token"] = fmt.Sprintf("token of %v", object.State["seed"])
			object.State["summary"] = fmt.Sprintf("summary of %v", object.State["value"])
			if object.State["chosen"] == "" {
				object.State["chosen"] = "chosen"
			}
			// Where it changes, the SDK gives the text itself.
			if data.HasChange("hashed") && object.State["hashed"] != "" {
				object.State["hashed"] = hashOf(object.State["hashed"])
			}
			var module struct {
				Name *string           `cty:"module_name"`
				Tags map[string]string `cty:"module_tags"`
			}
			object.State["module"] = ""
			if err := data.GetProviderMeta(&module); err == nil && module.Name != nil {
				object.State["module"] = *module.Name
			}
		},
	}
	return keeper.resource(&schema.Resource{
		Description: "All that CustomizeDiff and attributes of the older SDK do to a plan.",
		CustomizeDiff: customdiff.All(
			customdiff.ForceNewIfChange("tier", func(_ context.Context, before, after, _ any) bool {
				former, _ := before.(int)
				now, _ := after.(int)
				return now < former
			}),
			customdiff.ComputedIf("token", func(_ context.Context, difference *schema.ResourceDiff, _ any) bool {
				return difference.HasChange("seed")
			}),
			func(_ context.Context, difference *schema.ResourceDiff, _ any) error {
				if asked, _ := difference.Get("on_plan").(string); asked == "error" {
					return errors.New("this plan was refused, as was asked for")
				}
				if !difference.HasChange("value") {
					return nil
				}
				if !difference.NewValueKnown("value") {
					return difference.SetNewComputed("summary")
				}
				return difference.SetNew("summary", fmt.Sprintf("summary of %v", difference.Get("value")))
			},
		),
	})
}

func hashOf(value any) string {
	text, _ := value.(string)
	return fmt.Sprintf("%.8x", sha256.Sum256([]byte(text)))
}

// legacyConstrained is all that the older SDK says of attributes together, and of their values.
func legacyConstrained() *schema.Resource {
	text := func(change func(*schema.Schema)) *schema.Schema {
		described := &schema.Schema{Type: schema.TypeString, Optional: true}
		change(described)
		return described
	}
	keeper := &legacyKeeper{
		kind: "legacy_constrained",
		schema: map[string]*schema.Schema{
			"conflicts_one":    text(func(s *schema.Schema) { s.ConflictsWith = []string{"conflicts_other"} }),
			"conflicts_other":  text(func(s *schema.Schema) { s.ConflictsWith = []string{"conflicts_one"} }),
			"exactly_one":      text(func(s *schema.Schema) { s.ExactlyOneOf = []string{"exactly_one", "exactly_other"} }),
			"exactly_other":    text(func(s *schema.Schema) { s.ExactlyOneOf = []string{"exactly_one", "exactly_other"} }),
			"at_least_one":     text(func(s *schema.Schema) { s.AtLeastOneOf = []string{"at_least_one", "at_least_other"} }),
			"at_least_other":   text(func(s *schema.Schema) { s.AtLeastOneOf = []string{"at_least_one", "at_least_other"} }),
			"required_with":    text(func(s *schema.Schema) { s.RequiredWith = []string{"required_company"} }),
			"required_company": text(func(*schema.Schema) {}),
			"validated": text(func(s *schema.Schema) {
				s.Description = "`warn` has a warning, `invalid` an error."
				s.ValidateDiagFunc = func(value any, at cty.Path) diag.Diagnostics {
					switch value {
					case "warn":
						return diag.Diagnostics{{Severity: diag.Warning, Summary: "Doubtful value", Detail: "It is allowed.", AttributePath: at}}
					case "invalid":
						return diag.Diagnostics{{Severity: diag.Error, Summary: "Invalid value", Detail: "It is not allowed.", AttributePath: at}}
					}
					return nil
				}
			}),
			"block": {
				Type: schema.TypeList, Optional: true, MaxItems: 1,
				Elem: &schema.Resource{Schema: map[string]*schema.Schema{
					"inner_one":   text(func(s *schema.Schema) { s.ConflictsWith = []string{"block.0.inner_other"} }),
					"inner_other": text(func(s *schema.Schema) { s.ConflictsWith = []string{"block.0.inner_one"} }),
				}},
			},
		},
	}
	return keeper.resource(&schema.Resource{Description: "All that the older SDK says of attributes together."})
}
