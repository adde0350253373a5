package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

// legacyServer keeps two things from the SDK that it has no words for: the schema of the provider's configuration, which the
// framework's server has, and what of a configuration is not in the SDK's own schema (objects, for instance).
type legacyServer struct {
	tfprotov5.ProviderServer
	configType, ownType tftypes.Type
}

func newLegacyServer(configType tftypes.Type, ages ages) func() tfprotov5.ProviderServer {
	provider := newLegacyProvider(ages)
	return func() tfprotov5.ProviderServer {
		ownType := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"directory": tftypes.String}}
		return &legacyServer{ProviderServer: provider.GRPCProvider(), configType: configType, ownType: ownType}
	}
}

func (l *legacyServer) GetProviderSchema(ctx context.Context, request *tfprotov5.GetProviderSchemaRequest) (*tfprotov5.GetProviderSchemaResponse, error) {
	response, err := l.ProviderServer.GetProviderSchema(ctx, request)
	if err == nil {
		response.Provider, response.ProviderMeta = nil, nil
	}
	return response, err
}

func (l *legacyServer) PrepareProviderConfig(ctx context.Context, request *tfprotov5.PrepareProviderConfigRequest) (*tfprotov5.PrepareProviderConfigResponse, error) {
	config, err := l.own(request.Config)
	if err != nil {
		return nil, err
	}
	return l.ProviderServer.PrepareProviderConfig(ctx, &tfprotov5.PrepareProviderConfigRequest{Config: config})
}

func (l *legacyServer) ConfigureProvider(ctx context.Context, request *tfprotov5.ConfigureProviderRequest) (*tfprotov5.ConfigureProviderResponse, error) {
	config, err := l.own(request.Config)
	if err != nil {
		return nil, err
	}
	narrowed := *request
	narrowed.Config = config
	return l.ProviderServer.ConfigureProvider(ctx, &narrowed)
}

// own is the configuration without what the SDK does not know.
func (l *legacyServer) own(config *tfprotov5.DynamicValue) (*tfprotov5.DynamicValue, error) {
	whole, err := config.Unmarshal(l.configType)
	if err != nil {
		return nil, err
	}
	var members map[string]tftypes.Value
	if err := whole.As(&members); err != nil {
		return nil, err
	}
	narrowed := tftypes.NewValue(l.ownType, map[string]tftypes.Value{"directory": members["directory"]})
	dynamic, err := tfprotov5.NewDynamicValue(l.ownType, narrowed)
	return &dynamic, err
}

// newLegacyProvider is the SDK's half: the older library, which most of the world's resources still run on, and whose plans and
// states bend the rules that newer ones keep (core calls it the legacy type system).
func newLegacyProvider(ages ages) *schema.Provider {
	return &schema.Provider{
		Schema: map[string]*schema.Schema{
			"directory": {Type: schema.TypeString, Optional: true, Description: "As the provider's configuration has it."},
		},
		ResourcesMap: map[string]*schema.Resource{
			"conformance_legacy":             legacyResource(),
			"conformance_legacy_shapes":      legacyShapes(),
			"conformance_legacy_planned":     legacyPlanned(),
			"conformance_legacy_constrained": legacyConstrained(),
			"conformance_legacy_timed":       legacyTimed(),
			"conformance_legacy_versioned":   legacyVersioned(ages.schema),
			"conformance_legacy_flaky":       legacyFlaky(),
			"conformance_legacy_metadata":    legacyMetadata(),
			"conformance_legacy_sets":        legacySets(),
			"conformance_legacy_imported":    legacyImported(),
			"conformance_legacy_identified":  legacyIdentified(),
		},
		// As the framework's half has it, which alone shows it.
		ProviderMetaSchema: map[string]*schema.Schema{
			"module_name": {Type: schema.TypeString, Optional: true},
			"module_tags": {Type: schema.TypeMap, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
		},
		ConfigureContextFunc: func(_ context.Context, data *schema.ResourceData) (any, diag.Diagnostics) {
			directory, _ := data.Get("directory").(string)
			return &store{directory: directoryOf(directory)}, nil
		},
	}
}

const (
	legacyKind    = "legacy"
	legacyTimeout = 10 * time.Minute
)

type legacyObject struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Title    string            `json:"title"`
	Size     int               `json:"size"`
	Enabled  bool              `json:"enabled"`
	Revision int               `json:"revision"`
	Networks []legacyNetwork   `json:"networks"`
	Rules    []legacyRule      `json:"rules"`
	Tags     map[string]string `json:"tags"`
}

type legacyNetwork struct {
	CIDR string `json:"cidr"`
}

type legacyRule struct {
	Port     int    `json:"port"`
	Protocol string `json:"protocol"`
}

func legacyResource() *schema.Resource {
	return &schema.Resource{
		Description:   "A record in the old style.",
		SchemaVersion: 1,
		StateUpgraders: []schema.StateUpgrader{
			{Version: 0, Type: legacyVersion0().CoreConfigSchema().ImpliedType(), Upgrade: upgradeLegacyVersion0},
		},
		Schema: map[string]*schema.Schema{
			"name":  {Type: schema.TypeString, Required: true, ForceNew: true, Description: "What the id starts with; `fail-` and `partial-` in front make the creation misbehave."},
			"title": {Type: schema.TypeString, Optional: true, Description: "A text; it was called `old_title` in version 0."},
			"size":  {Type: schema.TypeInt, Optional: true, Default: 1, Description: "A number with a default."},
			"enabled": {
				Type: schema.TypeBool, Optional: true, Computed: true,
				Description: "A truth value that the provider chooses (true) where the program does not.",
			},
			"etag": {Type: schema.TypeString, Computed: true, Description: "Known only after each write: v1, v2, …"},
			"tags": {Type: schema.TypeMap, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}, Description: "A map of strings."},
			"network": {
				Type: schema.TypeList, Optional: true, MaxItems: 1,
				Description: "At most one block, which bridges show as an object.",
				Elem: &schema.Resource{Schema: map[string]*schema.Schema{
					"cidr":    {Type: schema.TypeString, Required: true, Description: "Address range; changing it replaces the resource.", ForceNew: true},
					"gateway": {Type: schema.TypeString, Computed: true, Description: "Computed from the range."},
				}},
			},
			"rule": {
				Type: schema.TypeSet, Optional: true,
				Description: "A set of blocks.",
				Elem: &schema.Resource{Schema: map[string]*schema.Schema{
					"port":     {Type: schema.TypeInt, Required: true, Description: "Port."},
					"protocol": {Type: schema.TypeString, Optional: true, Default: "tcp", Description: "Protocol."},
				}},
			},
		},
		Timeouts: &schema.ResourceTimeout{
			Create: schema.DefaultTimeout(legacyTimeout),
			Update: schema.DefaultTimeout(legacyTimeout),
			Delete: schema.DefaultTimeout(legacyTimeout),
		},
		Importer:      &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughContext},
		CustomizeDiff: planLegacy,
		CreateContext: createLegacy,
		ReadContext:   readLegacy,
		UpdateContext: updateLegacy,
		DeleteContext: deleteLegacy,
	}
}

// legacyVersion0 is the schema of yore, as far as its states have to be read.
func legacyVersion0() *schema.Resource {
	return &schema.Resource{Schema: map[string]*schema.Schema{
		"name":      {Type: schema.TypeString, Required: true},
		"old_title": {Type: schema.TypeString, Optional: true},
		"size":      {Type: schema.TypeInt, Optional: true},
	}}
}

func upgradeLegacyVersion0(_ context.Context, state map[string]any, _ any) (map[string]any, error) {
	if title, found := state["old_title"]; found {
		state["title"] = title
		delete(state, "old_title")
	}
	return state, nil
}

// planLegacy makes the etag unknown in each plan that changes anything.
func planLegacy(_ context.Context, difference *schema.ResourceDiff, _ any) error {
	if difference.Id() != "" && len(difference.GetChangedKeysPrefix("")) > 0 {
		return difference.SetNewComputed("etag")
	}
	return nil
}

func createLegacy(ctx context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
	object := legacyFrom(data)
	if strings.HasPrefix(object.Name, "fail-") {
		return diag.Errorf("names that start with fail- are never created")
	}
	if enabled, set := data.GetOkExists("enabled"); set { //nolint:staticcheck // the only way to tell false from unset
		object.Enabled, _ = enabled.(bool)
	} else {
		object.Enabled = true
	}
	objects := storeOf(meta)
	id, err := objects.Create(legacyKind, object.Name, func(id string) any {
		object.ID, object.Revision = id, 1
		return object
	})
	if err != nil {
		return diag.FromErr(err)
	}
	data.SetId(id)
	// With an id set, an error means: half made; the SDK keeps the state and core marks it as tainted.
	if strings.HasPrefix(object.Name, "partial-") {
		return diag.Errorf("names that start with partial- are created, and then something goes wrong")
	}
	return readLegacy(ctx, data, meta)
}

func readLegacy(_ context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
	var object legacyObject
	found, err := storeOf(meta).Read(legacyKind, data.Id(), &object)
	if err != nil {
		return diag.FromErr(err)
	}
	if !found {
		data.SetId("")
		return nil
	}

	networks, rules := []any{}, []any{}
	for _, network := range object.Networks {
		networks = append(networks, map[string]any{"cidr": network.CIDR, "gateway": "gateway of " + network.CIDR})
	}
	for _, rule := range object.Rules {
		rules = append(rules, map[string]any{"port": rule.Port, "protocol": rule.Protocol})
	}
	for name, value := range map[string]any{
		"name":    object.Name,
		"title":   object.Title,
		"size":    object.Size,
		"enabled": object.Enabled,
		"etag":    fmt.Sprintf("v%d", object.Revision),
		"tags":    object.Tags,
		"network": networks,
		"rule":    rules,
	} {
		if err := data.Set(name, value); err != nil {
			return diag.FromErr(err)
		}
	}
	return nil
}

func updateLegacy(ctx context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
	objects := storeOf(meta)
	var former legacyObject
	found, err := objects.Read(legacyKind, data.Id(), &former)
	if err != nil {
		return diag.FromErr(err)
	}
	if !found {
		return diag.Errorf("there is no object %s to update", data.Id())
	}
	object := legacyFrom(data)
	object.ID = data.Id()
	object.Revision = former.Revision + 1
	object.Enabled, _ = data.Get("enabled").(bool)
	if err := objects.Write(legacyKind, object.ID, object); err != nil {
		return diag.FromErr(err)
	}
	return readLegacy(ctx, data, meta)
}

func deleteLegacy(_ context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
	return diag.FromErr(storeOf(meta).Remove(legacyKind, data.Id()))
}

func legacyFrom(data *schema.ResourceData) legacyObject {
	object := legacyObject{Tags: map[string]string{}}
	object.Name, _ = data.Get("name").(string)
	object.Title, _ = data.Get("title").(string)
	object.Size, _ = data.Get("size").(int)
	if tags, ok := data.Get("tags").(map[string]any); ok {
		for name, value := range tags {
			object.Tags[name], _ = value.(string)
		}
	}
	if networks, ok := data.Get("network").([]any); ok {
		for _, element := range networks {
			network, _ := element.(map[string]any)
			cidr, _ := network["cidr"].(string)
			object.Networks = append(object.Networks, legacyNetwork{CIDR: cidr})
		}
	}
	if rules, ok := data.Get("rule").(*schema.Set); ok {
		for _, element := range rules.List() {
			rule, _ := element.(map[string]any)
			port, _ := rule["port"].(int)
			protocol, _ := rule["protocol"].(string)
			object.Rules = append(object.Rules, legacyRule{Port: port, Protocol: protocol})
		}
	}
	return object
}

// storeOf returns what ConfigureContextFunc handed out; nil before that, which the store's methods take.
func storeOf(meta any) *store {
	objects, _ := meta.(*store)
	return objects
}
