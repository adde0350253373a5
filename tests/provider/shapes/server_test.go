package shapes

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"isthmus/tests/provider/raw"
)

// drawer keeps objects in memory.
type drawer map[string][]byte

func (d drawer) Create(kind, name string, object func(id string) any) (string, error) {
	id := fmt.Sprintf("%s-%d", name, len(d)+1)
	return id, d.Write(kind, id, object(id))
}

func (d drawer) Read(kind, id string, object any) (bool, error) {
	content, found := d[kind+"/"+id]
	if !found {
		return false, nil
	}
	return true, json.Unmarshal(content, object)
}

func (d drawer) Write(kind, id string, object any) error {
	content, err := json.Marshal(object)
	d[kind+"/"+id] = content
	return err
}

func (d drawer) Remove(kind, id string) error {
	delete(d, kind+"/"+id)
	return nil
}

func (d drawer) IDs(kind string) ([]string, error) {
	var ids []string
	for name := range d {
		if id, found := strings.CutPrefix(name, kind+"/"); found {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// configured is a configuration in which everything is set that can be.
func configured(block *tfprotov6.SchemaBlock) tftypes.Value {
	full := walk{attribute: func(path *tftypes.AttributePath, attribute *tfprotov6.SchemaAttribute, value tftypes.Value) tftypes.Value {
		if attribute.Computed && !attribute.Optional {
			return tftypes.NewValue(attributeType(attribute), nil)
		}
		return value
	}}
	return full.block(tftypes.NewAttributePath(), block, setAll(block))
}

func setAll(block *tfprotov6.SchemaBlock) tftypes.Value {
	members := map[string]tftypes.Value{}
	types := map[string]tftypes.Type{}
	for _, attribute := range block.Attributes {
		members[attribute.Name] = raw.MadeUp(attribute.Name, attributeType(attribute))
		types[attribute.Name] = attributeType(attribute)
	}
	for _, inner := range block.BlockTypes {
		one := setAll(inner.Block)
		declared := blockType(&tfprotov6.SchemaBlock{BlockTypes: []*tfprotov6.SchemaNestedBlock{inner}}).AttributeTypes[inner.TypeName]
		switch {
		case inner.Nesting == list && declared.Is(anything):
			declared = tupleOf(one.Type())
			members[inner.TypeName] = tftypes.NewValue(declared, []tftypes.Value{one})
		case inner.Nesting == keyed && declared.Is(anything):
			declared = tftypes.Object{AttributeTypes: map[string]tftypes.Type{"key": one.Type()}}
			members[inner.TypeName] = tftypes.NewValue(declared, map[string]tftypes.Value{"key": one})
		case inner.Nesting == list || inner.Nesting == set:
			members[inner.TypeName] = tftypes.NewValue(declared, []tftypes.Value{one})
		case inner.Nesting == keyed:
			members[inner.TypeName] = tftypes.NewValue(declared, map[string]tftypes.Value{"key": one})
		default:
			members[inner.TypeName] = one
		}
		types[inner.TypeName] = declared
	}
	return tftypes.NewValue(tftypes.Object{AttributeTypes: types}, members)
}

// dynamic encodes by the type of the schema, as a client does.
func dynamic(t *testing.T, block *tfprotov6.SchemaBlock, value tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	made, err := encoded(block, value)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func accept(t *testing.T, diagnostics []*tfprotov6.Diagnostic) {
	t.Helper()
	for _, diagnostic := range diagnostics {
		t.Errorf("%s: %s (%s)", diagnostic.Summary, diagnostic.Detail, diagnostic.Attribute)
	}
}

func TestEveryResourceIsCreatedReadImportedAndDeletedOnBothProtocols(t *testing.T) {
	for _, protocol := range []int{5, 6} {
		objects := drawer{}
		server, err := New(protocol, []string{"collisions", "prefixes", "properties", "reserved", "conformance_tuples"}, tftypes.Object{}, func(string) Objects { return objects })
		if err != nil {
			t.Fatal(err)
		}
		for name, shape := range server.tables.resources {
			t.Run(fmt.Sprintf("%s on %d", name, protocol), func(t *testing.T) {
				liveThrough(t, server, name, shape.block, true)
			})
			t.Run(fmt.Sprintf("%s on %d, deleted without private state", name, protocol), func(t *testing.T) {
				liveThrough(t, server, name, shape.block, false)
			})
		}
		if len(objects) > 0 {
			t.Errorf("objects are left on protocol %d: %v", protocol, objects)
		}
	}
}

func liveThrough(t *testing.T, server *Server, name string, block *tfprotov6.SchemaBlock, private bool) {
	ctx := context.Background()
	null := dynamic(t, block, tftypes.NewValue(blockType(block), nil))
	config := dynamic(t, block, configured(block))

	validated, _ := server.ValidateResourceConfig(ctx, &tfprotov6.ValidateResourceConfigRequest{
		TypeName: name, Config: config, ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true},
	})
	accept(t, validated.Diagnostics)

	plan, _ := server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{TypeName: name, PriorState: null, ProposedNewState: config, Config: config})
	accept(t, plan.Diagnostics)
	made, _ := server.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{TypeName: name, PriorState: null, PlannedState: plan.PlannedState, Config: config})
	accept(t, made.Diagnostics)
	if t.Failed() {
		return
	}
	state, err := made.NewState.Unmarshal(blockType(block))
	if err != nil || !state.IsFullyKnown() {
		t.Fatalf("the new state is not known as a whole: %s, %v", state, err)
	}

	read, _ := server.ReadResource(ctx, &tfprotov6.ReadResourceRequest{TypeName: name, CurrentState: made.NewState, Private: made.Private})
	accept(t, read.Diagnostics)
	if t.Failed() {
		return
	}
	if again, err := read.NewState.Unmarshal(blockType(block)); err != nil || !again.Equal(state) {
		t.Errorf("created: %s\nread:    %s, %v", state, again, err)
	}

	again, _ := server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: name, PriorState: read.NewState, ProposedNewState: read.NewState, Config: config, PriorPrivate: read.Private,
	})
	accept(t, again.Diagnostics)
	if unchanged, err := again.PlannedState.Unmarshal(blockType(block)); err != nil || !unchanged.Equal(state) {
		t.Errorf("state:          %s\nplan without change: %s, %v", state, unchanged, err)
	}

	id, err := idOf(read.Private)
	if err != nil {
		t.Fatal(err)
	}
	imported, _ := server.ImportResourceState(ctx, &tfprotov6.ImportResourceStateRequest{TypeName: name, ID: id})
	accept(t, imported.Diagnostics)

	planned := read.Private
	if !private {
		planned = nil
	}
	gone, _ := server.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: name, PriorState: read.NewState, PlannedState: null, Config: null, PlannedPrivate: planned,
	})
	accept(t, gone.Diagnostics)
	after, _ := server.ReadResource(ctx, &tfprotov6.ReadResourceRequest{TypeName: name, CurrentState: read.NewState, Private: read.Private})
	accept(t, after.Diagnostics)
	if state, err := after.NewState.Unmarshal(blockType(block)); err != nil || !state.IsNull() {
		t.Errorf("it is still there: %s, %v", state, err)
	}
}

func TestNoNestedAttributesOnProtocol5(t *testing.T) {
	five, err := tablesOf(5, variantNames())
	if err != nil {
		t.Fatal(err)
	}
	six, err := tablesOf(6, variantNames())
	if err != nil {
		t.Fatal(err)
	}
	for name, shape := range six.resources {
		if _, there := five.resources[name]; there == hasNestedAttributes(shape.block) {
			t.Errorf("%s: nested attributes %t, on protocol 5 %t", name, hasNestedAttributes(shape.block), there)
		}
	}
}

func TestAVariantThatDoesNotExistIsRefused(t *testing.T) {
	if _, err := tablesOf(6, []string{"nonsense"}); err == nil {
		t.Error("nonsense was taken")
	}
}
