package raw

import (
	"encoding/json"
	"math/big"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

var everything = tftypes.Object{AttributeTypes: map[string]tftypes.Type{
	"text":   tftypes.String,
	"number": tftypes.Number,
	"truth":  tftypes.Bool,
	"any":    tftypes.DynamicPseudoType,
	"list":   tftypes.List{ElementType: tftypes.String},
	"set":    tftypes.Set{ElementType: tftypes.Number},
	"map":    tftypes.Map{ElementType: tftypes.Bool},
	"object": tftypes.Object{AttributeTypes: map[string]tftypes.Type{"inner": tftypes.String}},
}}

func TestWhatIsKeptReadsAsItWas(t *testing.T) {
	value := MadeUp("", everything)
	content, err := ToJSON(everything, value)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	read, err := FromJSON(everything, encoded)
	if err != nil {
		t.Fatal(err)
	}
	if !read.Equal(value) {
		t.Errorf("kept: %s\nread: %s", value, read)
	}
}

func TestWhatAFileLeavesOutIsNull(t *testing.T) {
	read, err := FromJSON(everything, json.RawMessage(`{"number": 12345678901234567890, "any": {"type": "bool", "value": true}}`))
	if err != nil {
		t.Fatal(err)
	}
	members, _ := Members(read)
	number := new(big.Float)
	if err := members["number"].As(&number); err != nil || number.Text('f', 0) != "12345678901234567890" {
		t.Errorf("the number is %s (%v)", number.Text('f', 0), err)
	}
	if !members["any"].Equal(tftypes.NewValue(tftypes.Bool, true)) {
		t.Errorf("the value of any type is %s", members["any"])
	}
	for _, name := range []string{"text", "truth", "list", "set", "map", "object"} {
		if !members[name].IsNull() {
			t.Errorf("%s is %s", name, members[name])
		}
	}
}

func TestTheUnknownCannotBeKept(t *testing.T) {
	if content, err := ToJSON(everything, tftypes.NewValue(everything, tftypes.UnknownValue)); err == nil {
		t.Errorf("kept: %v", content)
	}
}
