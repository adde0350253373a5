package main

import (
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

func TestTheProviderStartsOnBothProtocolsAndAtAllAges(t *testing.T) {
	for _, protocol := range []string{"5", "6"} {
		for _, schema := range []string{"0", "1", "2", "3", "4"} {
			t.Setenv("CONFORMANCE_SCHEMA_VERSION", schema)
			t.Setenv("CONFORMANCE_IDENTITY_VERSION", schema[:1])
			if schema == "4" {
				t.Setenv("CONFORMANCE_IDENTITY_VERSION", "")
			}
			if _, _, err := pluginsFor(t.Context(), protocol, nil); err != nil {
				t.Errorf("protocol %s, version %s: %v", protocol, schema, err)
			}
		}
	}
	for _, variable := range []string{"CONFORMANCE_SCHEMA_VERSION", "CONFORMANCE_IDENTITY_VERSION"} {
		t.Setenv(variable, "5")
		if _, _, err := pluginsFor(t.Context(), "6", nil); err == nil || !strings.Contains(err.Error(), variable) {
			t.Errorf("%s = 5: %v", variable, err)
		}
	}
}

func TestTheFrameworkFindsNothingWrongWithTheSchemas(t *testing.T) {
	ages := ages{schema: newestVersion, identity: newestIdentity}
	five, err := providerserver.NewProtocol5(&conformanceProvider{protocol: 5, ages: ages})().
		GetProviderSchema(t.Context(), &tfprotov5.GetProviderSchemaRequest{})
	if err != nil || len(five.Diagnostics) != 0 {
		t.Errorf("protocol 5: %v, %v", err, five.Diagnostics)
	}
	six, err := providerserver.NewProtocol6(&conformanceProvider{protocol: 6, ages: ages})().
		GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil || len(six.Diagnostics) != 0 {
		t.Errorf("protocol 6: %v, %v", err, six.Diagnostics)
	}
}

func TestTheSDKFindsNothingWrongWithTheSchemas(t *testing.T) {
	if err := newLegacyProvider(ages{schema: newestVersion, identity: newestIdentity}).InternalValidate(); err != nil {
		t.Error(err)
	}
}

func TestAListResourceOfTheFrameworkListsWhatTheSDKManages(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("CONFORMANCE_DIR", directory)
	objects := &store{directory: directory}
	for _, zone := range []string{"a", "b", "a"} {
		_, err := objects.Create("legacy_identified", "x", func(id string) any {
			return legacyKept{ID: id, State: map[string]any{"name": "x", "zone": zone, "value": ""}}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	provider := &conformanceProvider{protocol: 6, ages: ages{schema: newestVersion, identity: newestIdentity}}
	server := providerserver.NewProtocol6(provider)()
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	null, err := tfprotov6.NewDynamicValue(schemas.Provider.ValueType(), tftypes.NewValue(schemas.Provider.ValueType(), nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: &null}); err != nil {
		t.Fatal(err)
	}
	of := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"zone": tftypes.String}}
	config, err := tfprotov6.NewDynamicValue(of, tftypes.NewValue(of, map[string]tftypes.Value{"zone": tftypes.NewValue(tftypes.String, "a")}))
	if err != nil {
		t.Fatal(err)
	}
	listing, ok := server.(tfprotov6.ProviderServerWithListResource)
	if !ok {
		t.Fatal("the framework's server has no list resources")
	}
	stream, err := listing.ListResource(t.Context(), &tfprotov6.ListResourceRequest{
		TypeName: "conformance_legacy_identified", Config: &config, IncludeResource: true, Limit: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for result := range stream.Results {
		if len(result.Diagnostics) != 0 || result.Identity == nil || result.Resource == nil {
			t.Errorf("%s: %v", result.DisplayName, result.Diagnostics)
		}
		names = append(names, result.DisplayName)
	}
	if strings.Join(names, " ") != "x-1 x-3" {
		t.Errorf("listed: %v", names)
	}
}

func TestTheReadmeNamesEveryResource(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for name := range newLegacyProvider(ages{}).ResourcesMap {
		names = append(names, name)
	}
	for _, make := range (&conformanceProvider{protocol: 6}).Resources(t.Context()) {
		var response resource.MetadataResponse
		make().Metadata(t.Context(), resource.MetadataRequest{ProviderTypeName: "conformance"}, &response)
		names = append(names, response.TypeName)
	}
	for _, name := range names {
		short := strings.TrimPrefix(name, "conformance_")
		// The first of several resources of one kind is named in full, the others by their ends.
		end := "…_" + strings.TrimPrefix(short, "attribute_")
		if !strings.Contains(string(page), "`"+name+"`") && !strings.Contains(string(page), "`"+short+"`") && !strings.Contains(string(page), "`"+end+"`") {
			t.Errorf("README.md does not name %s", name)
		}
	}
}
