package main

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

func field(number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
}

func join(fields ...[]byte) []byte { return bytes.Join(fields, nil) }

func TestTextsAreLeftOutAndAllElseStays(t *testing.T) {
	flag := protowire.AppendVarint(protowire.AppendTag(nil, 4, protowire.VarintType), 1)
	text := []byte("What it is for.")
	answer := func(texts bool) []byte {
		described := func(number protowire.Number) []byte {
			if texts {
				return field(number, text)
			}
			return nil
		}
		inner := field(2, join(field(1, []byte("inner")), described(3)))
		attribute := join(field(1, []byte("description")), field(2, []byte(`"string"`)), described(3), flag, described(12),
			field(10, field(1, join(field(1, []byte("member")), described(3)))))
		block := join(field(2, attribute), field(3, join(field(1, []byte("nested")), field(2, inner))), described(4), described(7))
		function := join(field(1, join(field(1, []byte("parameter")), described(5))), field(3, field(1, []byte(`"bool"`))), described(4), described(5), described(7))
		return join(field(1, field(2, block)), field(2, join(field(1, []byte("a_resource")), field(2, field(2, block)))),
			field(7, join(field(1, []byte("a_function")), field(2, function))))
	}
	found, err := withoutTexts(answer(true), response)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(found, answer(false)) {
		t.Errorf("found    %q\nexpected %q", found, answer(false))
	}
	if _, err := withoutTexts([]byte{0x0a, 0xff}, response); err == nil {
		t.Error("a message that is cut is taken")
	}
}
