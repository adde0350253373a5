package shapes

import "strings"

// fence is what opens and closes a block of code.
const fence = "```"

// texts are descriptions of every kind that a cleaner of documentation, or a generator of comments, could stumble over.
var texts = map[string]shape{
	"conformance_texts": {parts: parts{
		about("A resource with *Markdown*, `snake_case_names`, a [link](https://example.com/a_b_c), and\n\na second paragraph.\n\n## Example Usage\n\n" +
			fence + "terraform\nresource \"conformance_texts\" \"example\" {\n  snake_case = \"value\"\n}\n" + fence + "\n"),
		attribute("id", text, computed, plain("")),
		attribute("undescribed", text, optional),
		attribute("plain", text, optional, plain("Plain text, of one line.")),
		attribute("plain_stars", text, optional, plain("Plain text with *stars*, _underscores_ and `backticks`, which are no Markdown.")),
		attribute("markdown", text, optional, markdown("Text with *stars*, **double ones** and `code`.")),
		attribute("snake_case", text, optional, markdown("See `other_name`, `name`, `a_b`, `conformance_texts`, `conformance_blocks.example.id` and `block.0.inner_name`.")),
		attribute("value_names", text, optional, markdown("One of `true`, `null`, `us-east-1`, `UPPER_CASE`, `camelCase`, `snake_case`; \"quoted_name\" and 'single_quoted_name'.")),
		attribute("html", text, optional, markdown("Text with <b>bold</b>, <br/>, <script>alert(1)</script>, &amp; and <unclosed.")),
		attribute("comment_end", text, optional, markdown("Ends comments: */ and /* and // and \"\"\" and ''' and --> and <!-- hidden --> and {@code x} and @param and \\u0041 and ${x} and %s.")),
		attribute("html_comment", text, optional, markdown("Before.<!-- TODO: hidden from readers -->After.")),
		attribute("code", text, optional, markdown("Code:\n\n"+fence+"hcl\nresource \"conformance_texts\" \"a\" {\n  snake_case = true # not_a_name\n}\n"+fence+"\n\nand after it `snake_case`.")),
		attribute("code_json", text, optional, markdown(fence+"json\n{\"a_b\": [1, 2]}\n"+fence)),
		attribute("open_code", text, optional, markdown("Never closed:\n\n"+fence+"sh\nterraform apply\n")),
		attribute("open_tick", text, optional, markdown("One `tick_only is not closed.")),
		attribute("double_ticks", text, optional, markdown("``code with ` inside`` and `` `a_b` ``.")),
		attribute("example", text, optional, markdown("A text.\n\n### Example\n\n"+fence+"terraform\nprovider \"conformance\" {}\n"+fence+"\n\n## Import\n\nImport is supported: `terraform import conformance_texts.a id`.")),
		attribute("link", text, optional, markdown("[A link](https://registry.terraform.io/providers/isthmus/conformance/latest/docs/resources/texts#snake_case), <https://example.com/?a=b&c=d>, [a relative one](../guides/a_guide.md), [one by reference][ref], https://bare.example.com/x_y.\n\n[ref]: https://example.com")),
		attribute("image", text, optional, markdown("![An image](images/a_b.png \"title\")")),
		attribute("list", text, optional, markdown("Items:\n\n* `first_item` - one\n* second\n    - nested_item\n1. numbered\n\n| head | er |\n|---|---|\n| `a_b` | c |\n")),
		attribute("terraform", text, optional, markdown("Terraform Cloud's `terraform_remote_state` of Terraform; run `terraform plan`. HashiCorp's Configuration Language (HCL), provider block, `data.conformance_inputs.x.id`.")),
		attribute("unicode", text, optional, markdown("Größe in µm: 漢字, العربية, 👩‍👩‍👧, é, \u200b zero width, \u202e reversed, \u00a0 space, `größe_wert`.")),
		attribute("whitespace", text, optional, plain("  \t leading, trailing and\r\nwindows line ends, \n\n\n\n many empty lines \f.  \n")),
		attribute("quotes", text, optional, plain("\"Double\", 'single', `back`, “curly”, back\\slash, $dollar, #{x}, {{ x }}, \x00-free but \x01 and \x7f.")),
		attribute("very_long", text, optional, markdown(strings.Repeat("A sentence about `snake_case` that is repeated. ", 400))),
		attribute("one_word", text, optional, markdown(strings.Repeat("x", 5000))),
		attribute("new_lines_only", text, optional, markdown("\n\n")),
		attribute("secret_wo", text, optional, writeOnly, markdown("A write-only text, with `snake_case`.")),
		attribute("boxed", objectOf(fields{"snake_case": text}), optional, markdown("Its `snake_case` has no text of its own.")),
		block("inner", list, parts{
			about("A block; `inner_name` is in it. */"),
			attribute("inner_name", text, optional, markdown("See `inner.inner_name` and `snake_case`.")),
		}),
		block("plain_inner", single, parts{
			plainly("A block, in plain text with `inner_name`."),
			attribute("inner_name", text, optional, plain("See `inner_name`.")),
		}),
		block("silent", set, parts{attribute("inner_name", text, optional)}),
	}},

	"conformance_texts_nested": {parts: parts{
		plainly("A resource in plain text, with <b>HTML</b> and `snake_case`."),
		attribute("id", text, computed),
		nested("inner", objectList, parts{
			attribute("inner_name", text, optional, markdown("See `inner_name`. */ <!-- x -->")),
			nested("deep_inner", oneObject, parts{attribute("deep_name", text, optional, plain("See `deep_name`."))}, optional, markdown("Deep.")),
		}, optional, markdown("A nested attribute with `inner_name`.")),
	}},
}
