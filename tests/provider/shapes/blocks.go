package shapes

// leaf is what most blocks hold: something to set, and something made up.
var leaf = parts{
	attribute("label", text, optional, plain("What is set.")),
	attribute("serial", text, computed, plain("What is made up.")),
}

// chosenLeaf is for nested attributes that are optional and computed as a whole: what is in them has to be computed, too, or Terraform
// takes the provider's own values for something that was configured and is so no more.
var chosenLeaf = parts{
	attribute("label", text, optional, computed),
	attribute("serial", text, computed),
}

// blocks are nested blocks in every nesting mode, limited, and in each other.
var blocks = map[string]shape{
	"conformance_blocks": {parts: parts{
		about("Blocks in each nesting mode; no library makes those of maps and groups."),
		attribute("id", text, computed),
		attribute("name", text, optional),
		block("roof", single, leaf.and(plainly("A single block."))),
		block("door", list, leaf.and(plainly("A list of blocks."))),
		block("window", set, leaf.and(plainly("A set of blocks."))),
		block("room", keyed, leaf.and(plainly("A map of blocks, by their labels."))),
		block("garden", group, leaf.and(plainly("A group: a single block that is never null."))),
		block("wall", list, parts{}),
	}},

	"conformance_block_limits": {parts: parts{
		about("Blocks of which there must be some, or may not be many."),
		attribute("id", text, computed),
		block("network", list, leaf, limit{0, 1}),
		block("policy", set, leaf, limit{0, 1}),
		block("owner", list, leaf.and(attribute("email", text, required)), limit{1, 1}),
		block("origin", set, leaf.and(attribute("url", text, required)), limit{1, 1}),
		block("listener", list, leaf.and(attribute("port", number, required)), limit{1, 0}),
		block("zone", list, leaf, limit{1, 3}),
		block("subnet", set, leaf, limit{0, 2}),
		block("disk", single, leaf.and(attribute("size", number, required)), limit{1, 1}),
	}},

	"conformance_block_nesting": {parts: parts{
		about("Blocks in blocks, of differing nesting modes."),
		attribute("id", text, computed),
		block("listed", list, leaf.and(
			block("chosen", set, leaf.and(
				block("ordered", list, leaf),
				block("sole", list, leaf, limit{0, 1}),
			)),
		)),
		block("flat", list, leaf.and(
			block("flatter", list, leaf.and(
				block("flattest", set, leaf, limit{0, 1}),
				block("bump", set, leaf),
			), limit{0, 1}),
		), limit{0, 1}),
		block("alone", single, leaf.and(
			block("named", keyed, leaf.and(block("item", list, leaf))),
			block("inner", single, leaf.and(block("innermost", single, leaf))),
		)),
		block("area", keyed, leaf.and(
			block("centre", single, leaf.and(block("surroundings", group, leaf))),
			block("border", list, leaf, limit{0, 1}),
		)),
		block("whole", group, leaf.and(
			block("part", list, leaf.and(block("piece", single, leaf))),
			block("kernel", group, leaf),
		)),
	}},

	"conformance_block_dynamic": {parts: parts{
		about("Blocks with a dynamic attribute inside, which makes lists of them tuples, and maps of them objects."),
		attribute("id", text, computed),
		block("entry", list, parts{attribute("key", text, required), attribute("value", anything, optional)}),
		block("setting", keyed, parts{attribute("value", anything, optional), attribute("serial", text, computed)}),
		block("extra", single, parts{attribute("value", anything, optional)}),
		block("common", group, parts{attribute("value", anything, optional)}),
		block("only", list, parts{attribute("value", anything, optional)}, limit{0, 1}),
		block("level", list, parts{block("entry", list, parts{attribute("value", anything, optional)})}),
	}},
}

// nestedAttributes are nested attributes in every nesting mode and in each other; protocol 5 has none of these.
var nestedAttributes = map[string]shape{
	"conformance_nesting": {parts: parts{
		about("Nested attributes in each nesting mode."),
		attribute("id", text, computed),
		nested("one", oneObject, leaf, optional, plain("A single nested attribute.")),
		nested("ordered", objectList, leaf, optional, plain("A list.")),
		nested("chosen", objectSet, leaf, optional, plain("A set.")),
		nested("named", objectMap, leaf, optional, plain("A map.")),
		nested("needed", oneObject, parts{
			attribute("label", text, required),
			attribute("note", text, optional, computed),
		}, required),
		nested("defaulted", oneObject, chosenLeaf, optional, computed),
		nested("defaulted_item", objectList, chosenLeaf, optional, computed),
		nested("report", oneObject, parts{attribute("serial", text, computed), attribute("count", number, computed)}, computed),
		nested("report_line", objectList, parts{attribute("line", text, computed)}, computed),
		nested("report_total", objectMap, parts{attribute("total", number, computed)}, computed),
		nested("report_kind", objectSet, parts{attribute("kind", text, computed)}, computed),
		nested("nothing", oneObject, parts{}, optional),
	}},

	"conformance_nesting_deep": {parts: parts{
		about("Nested attributes in nested attributes and in blocks."),
		attribute("id", text, computed),
		nested("street", objectList, leaf.and(
			nested("house", objectMap, leaf.and(
				nested("floor", objectSet, leaf.and(
					nested("kitchen", oneObject, leaf, optional),
				), optional),
			), optional),
		), optional),
		nested("outer", oneObject, leaf.and(
			nested("middle", oneObject, leaf.and(
				nested("inner", oneObject, leaf, optional),
				nested("made", oneObject, parts{attribute("serial", text, computed)}, computed),
			), optional),
			nested("chosen", objectSet, parts{
				attribute("label", text, optional),
				nested("ordered", objectList, parts{attribute("label", text, optional)}, optional),
			}, optional),
		), optional),
		nested("index", objectMap, parts{nested("index", objectMap, leaf, optional)}, optional),
		block("station", list, leaf.and(
			nested("platform", objectList, leaf, optional),
			nested("clock", oneObject, chosenLeaf, optional, computed),
		)),
		block("office", single, leaf.and(nested("desk", objectMap, leaf, optional))),
		block("depot", list, parts{nested("track", objectSet, leaf, optional)}, limit{0, 1}),
	}},
}
