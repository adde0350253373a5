package main

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// part is a message of the schema: the fields that are texts for people, and those that hold other parts.
type part struct {
	texts []protowire.Number
	parts map[protowire.Number]*part
}

// The field numbers are those of both protocols.
var (
	attribute = &part{texts: []protowire.Number{3, 12}}
	object    = &part{parts: map[protowire.Number]*part{1: attribute}}
	block     = &part{texts: []protowire.Number{4, 7}}
	nested    = &part{parts: map[protowire.Number]*part{2: block}}
	schema    = &part{parts: map[protowire.Number]*part{2: block}}
	parameter = &part{texts: []protowire.Number{5}}
	function  = &part{texts: []protowire.Number{4, 5, 7}, parts: map[protowire.Number]*part{1: parameter, 2: parameter}}
	action    = &part{parts: map[protowire.Number]*part{1: schema}}
	response  = &part{parts: map[protowire.Number]*part{
		1: schema, 2: entry(schema), 3: entry(schema), 5: schema, 7: entry(function), 8: entry(schema), 9: entry(schema),
		10: entry(schema), 11: entry(action),
	}}
)

func init() {
	attribute.parts = map[protowire.Number]*part{10: object}
	block.parts = map[protowire.Number]*part{2: attribute, 3: nested}
}

// entry is of a map.
func entry(value *part) *part {
	return &part{parts: map[protowire.Number]*part{2: value}}
}

// withoutTexts is a message without the texts for people in it: they are the providers' own works, and nothing that is tested
// depends on them. All else stays as it is.
func withoutTexts(message []byte, of *part) ([]byte, error) {
	var kept []byte
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return nil, fmt.Errorf("decode the schema: %w", protowire.ParseError(tag))
		}
		length := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if length < 0 {
			return nil, fmt.Errorf("decode the schema: %w", protowire.ParseError(length))
		}
		field := message[:tag+length]
		message = message[tag+length:]
		if kind == protowire.BytesType && of.isText(number) {
			continue
		}
		inner, isPart := of.parts[number]
		if !isPart || kind != protowire.BytesType {
			kept = append(kept, field...)
			continue
		}
		content, _ := protowire.ConsumeBytes(field[tag:])
		content, err := withoutTexts(content, inner)
		if err != nil {
			return nil, err
		}
		kept = protowire.AppendTag(kept, number, kind)
		kept = protowire.AppendBytes(kept, content)
	}
	return kept, nil
}

func (p *part) isText(number protowire.Number) bool {
	for _, text := range p.texts {
		if text == number {
			return true
		}
	}
	return false
}
