// Package shapes is the raw third of the provider: a server written against terraform-plugin-go alone, without any of the libraries
// for providers, because those refuse to make many a schema that the protocol allows and that some provider in the world has (map and
// group blocks, tuples, names in capitals, functions with parameters of one name, …).
//
// It is one generic implementation that is driven by tables of schemas: every resource of the tables can be created, read, updated,
// deleted and imported. What is configured is kept, what is computed is made up from the attribute's path and type, so that a test knows it.
package shapes

import (
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// part adds an attribute, a block, or a text to a block. Tables are made of parts because they read like a schema in HCL.
type part func(*tfprotov6.SchemaBlock)

type parts []part

// option sets one property of an attribute.
type option func(*tfprotov6.SchemaAttribute)

// The types by short names, for the tables.
var (
	text      = tftypes.String
	number    = tftypes.Number
	truth     = tftypes.Bool
	anything  = tftypes.DynamicPseudoType
	noOptions []option
)

func listOf(element tftypes.Type) tftypes.Type { return tftypes.List{ElementType: element} }
func setOf(element tftypes.Type) tftypes.Type  { return tftypes.Set{ElementType: element} }
func mapOf(element tftypes.Type) tftypes.Type  { return tftypes.Map{ElementType: element} }

func tupleOf(elements ...tftypes.Type) tftypes.Type {
	return tftypes.Tuple{ElementTypes: elements}
}

type fields map[string]tftypes.Type

// objectOf is an object type; the names that follow are its optional attributes, of which the type says so on the wire.
func objectOf(of fields, optional ...string) tftypes.Type {
	object := tftypes.Object{AttributeTypes: of}
	if len(optional) > 0 {
		object.OptionalAttributes = map[string]struct{}{}
		for _, name := range optional {
			object.OptionalAttributes[name] = struct{}{}
		}
	}
	return object
}

func required(a *tfprotov6.SchemaAttribute)  { a.Required = true }
func optional(a *tfprotov6.SchemaAttribute)  { a.Optional = true }
func computed(a *tfprotov6.SchemaAttribute)  { a.Computed = true }
func sensitive(a *tfprotov6.SchemaAttribute) { a.Sensitive = true }
func writeOnly(a *tfprotov6.SchemaAttribute) { a.WriteOnly = true }

// deprecated is what providers could say before the protocol had a message for it.
func deprecated(a *tfprotov6.SchemaAttribute) { a.Deprecated = true }

func deprecatedBecause(message string) option {
	return func(a *tfprotov6.SchemaAttribute) { a.Deprecated, a.DeprecationMessage = true, message }
}

func plain(description string) option {
	return func(a *tfprotov6.SchemaAttribute) {
		a.Description, a.DescriptionKind = description, tfprotov6.StringKindPlain
	}
}

func markdown(description string) option {
	return func(a *tfprotov6.SchemaAttribute) {
		a.Description, a.DescriptionKind = description, tfprotov6.StringKindMarkdown
	}
}

func attribute(name string, of tftypes.Type, options ...option) part {
	return func(block *tfprotov6.SchemaBlock) {
		added := &tfprotov6.SchemaAttribute{Name: name, Type: of}
		for _, apply := range options {
			apply(added)
		}
		block.Attributes = append(block.Attributes, added)
	}
}

// The nesting modes of nested attributes, which only protocol 6 has.
const (
	oneObject    = tfprotov6.SchemaObjectNestingModeSingle
	objectList   = tfprotov6.SchemaObjectNestingModeList
	objectSet    = tfprotov6.SchemaObjectNestingModeSet
	objectMap    = tfprotov6.SchemaObjectNestingModeMap
	wrongNesting = 9
)

// nested is a nested attribute; its parts are attributes only.
func nested(name string, mode tfprotov6.SchemaObjectNestingMode, inner parts, options ...option) part {
	return func(block *tfprotov6.SchemaBlock) {
		attribute(name, nil, options...)(block)
		added := block.Attributes[len(block.Attributes)-1]
		added.NestedType = &tfprotov6.SchemaObject{Attributes: inner.block().Attributes, Nesting: mode}
	}
}

// The nesting modes of blocks; the libraries make the first three only.
const (
	single = tfprotov6.SchemaNestedBlockNestingModeSingle
	list   = tfprotov6.SchemaNestedBlockNestingModeList
	set    = tfprotov6.SchemaNestedBlockNestingModeSet
	keyed  = tfprotov6.SchemaNestedBlockNestingModeMap
	group  = tfprotov6.SchemaNestedBlockNestingModeGroup
)

// limit is how many blocks there must at least be and may at most be; no maximum is 0.
type limit struct{ least, most int64 }

func block(name string, nesting tfprotov6.SchemaNestedBlockNestingMode, inner parts, limits ...limit) part {
	return func(outer *tfprotov6.SchemaBlock) {
		added := &tfprotov6.SchemaNestedBlock{TypeName: name, Nesting: nesting, Block: inner.block()}
		for _, limit := range limits {
			added.MinItems, added.MaxItems = limit.least, limit.most
		}
		outer.BlockTypes = append(outer.BlockTypes, added)
	}
}

// plainly and about describe the block that they stand in: in plain text, and in Markdown.
func plainly(description string) part {
	return func(block *tfprotov6.SchemaBlock) {
		block.Description, block.DescriptionKind = description, tfprotov6.StringKindPlain
	}
}

func about(description string) part {
	return func(block *tfprotov6.SchemaBlock) {
		block.Description, block.DescriptionKind = description, tfprotov6.StringKindMarkdown
	}
}

// obsolete deprecates the block that it stands in; the message may be empty.
func obsolete(message string) part {
	return func(block *tfprotov6.SchemaBlock) { block.Deprecated, block.DeprecationMessage = true, message }
}

func (p parts) block() *tfprotov6.SchemaBlock {
	made := &tfprotov6.SchemaBlock{}
	for _, add := range p {
		add(made)
	}
	return made
}

// and is the parts with more parts behind them.
func (p parts) and(more ...part) parts {
	return append(append(parts{}, p...), more...)
}
