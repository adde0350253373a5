package shapes

import "github.com/hashicorp/terraform-plugin-go/tfprotov6"

// flags are all that an attribute can be besides its type. Deprecation has a message of its own only since the protocols' last minor
// versions; most providers only have the flag.
var flags = map[string]shape{
	"conformance_flags": {replaces: []string{"fixed"}, parts: parts{
		about("Required, optional and computed; sensitive, deprecated."),
		attribute("id", text, computed),
		attribute("needed", text, required),
		attribute("allowed", text, optional),
		attribute("made", text, computed),
		attribute("chosen", text, optional, computed),
		attribute("fixed", text, optional, plain("A change of it replaces the resource.")),
		attribute("needed_secret", text, required, sensitive),
		attribute("allowed_secret", text, optional, sensitive),
		attribute("made_secret", text, computed, sensitive),
		attribute("chosen_secret", text, optional, computed, sensitive),
		attribute("secret_number", number, optional, sensitive),
		attribute("secret_list", listOf(text), optional, sensitive),
		attribute("secret_map", mapOf(text), optional, sensitive),
		attribute("secret_object", point, optional, sensitive),
		attribute("old", text, optional, deprecated),
		attribute("older", text, optional, deprecatedBecause("Use `allowed` instead.")),
		attribute("oldest", text, computed, deprecatedBecause("Use `made` instead.")),
		attribute("old_list", listOf(text), optional, deprecatedBecause("Use *nothing* instead, since `old_list` \"quoted\" is gone.")),
		attribute("old_secret", text, optional, sensitive, deprecated, plain("A secret that nobody should set.")),
		block("login", list, parts{
			attribute("user", text, required),
			attribute("password", text, optional, sensitive),
			attribute("old_password", text, optional, sensitive, deprecatedBecause("Use `password`.")),
			block("key", single, parts{attribute("private_key", text, optional, sensitive), attribute("fingerprint", text, computed, sensitive)}),
		}),
		block("only_login", list, parts{attribute("password", text, required, sensitive)}, limit{0, 1}),
		block("login_set", set, parts{attribute("password", text, optional, sensitive)}),
		block("old_login", list, parts{obsolete("Use `login` instead."), attribute("user", text, optional)}),
		block("older_login", single, parts{obsolete(""), attribute("user", text, optional)}),
	}},

	"conformance_flags_nested": {parts: parts{
		about("The same in nested attributes."),
		attribute("id", text, computed),
		nested("account", oneObject, parts{
			attribute("user", text, required),
			attribute("password", text, optional, sensitive),
			attribute("token", text, computed, sensitive),
			attribute("old", text, optional, deprecatedBecause("Use `user`.")),
			attribute("chosen", text, optional, computed),
		}, optional),
		nested("accounts", objectMap, parts{attribute("password", text, optional, sensitive)}, optional),
		nested("secret", oneObject, leaf, optional, sensitive),
		nested("secret_list", objectList, leaf, optional, sensitive),
		nested("made_secret", objectMap, parts{attribute("serial", text, computed)}, computed, sensitive),
		nested("old", oneObject, leaf, optional, deprecatedBecause("Use `account` instead.")),
	}},

	"conformance_write_only": {parts: parts{
		about("What is written and never read: in no plan, in no state. Sets may not hold such."),
		attribute("id", text, computed),
		attribute("password_wo", text, optional, sensitive, writeOnly, plain("A password.")),
		attribute("password_wo_version", number, optional),
		attribute("pin_wo", number, optional, writeOnly),
		attribute("codes_wo", listOf(text), optional, writeOnly),
		attribute("settings_wo", objectOf(fields{"a": text, "b": number}), optional, writeOnly, markdown("An *object*.")),
		attribute("any_wo", anything, optional, writeOnly),
		attribute("needed_wo", text, required, writeOnly),
		block("login", list, parts{
			attribute("user", text, optional),
			attribute("password_wo", text, optional, writeOnly),
		}),
		block("only", list, parts{attribute("secret_wo", text, optional, writeOnly)}, limit{0, 1}),
	}},

	"conformance_write_only_nested": {parts: parts{
		about("The same in nested attributes."),
		attribute("id", text, computed),
		nested("login", oneObject, parts{
			attribute("user", text, optional),
			attribute("password_wo", text, optional, writeOnly),
		}, optional),
		nested("logins", objectMap, parts{
			attribute("user", text, optional),
			attribute("password_wo", text, optional, writeOnly),
		}, optional),
		nested("whole_wo", oneObject, parts{attribute("user", text, optional, writeOnly)}, optional, writeOnly),
	}},

	"conformance_obsolete": {parts: parts{
		obsolete("Use conformance_blocks instead."),
		plainly("A resource that nobody should use."),
		attribute("id", text, computed),
		attribute("label", text, optional),
	}},

	"conformance_obsolete_silently": {parts: parts{
		obsolete(""),
		attribute("id", text, computed),
		attribute("label", text, optional),
	}},

	"conformance_identified": {parts: parts{
		about("A resource with an identity of all the types that identities can have, and of a second version; it can be listed."),
		attribute("id", text, computed),
		attribute("name", text, required),
		attribute("port", number, optional, computed),
		attribute("public", truth, optional, computed),
		attribute("zones", listOf(text), optional, computed),
		attribute("note", text, optional),
	}, replaces: []string{"name"}, version: 3, identity: &tfprotov6.ResourceIdentitySchema{
		Version: 2,
		IdentityAttributes: []*tfprotov6.ResourceIdentitySchemaAttribute{
			{Name: "id", Type: text, RequiredForImport: true, Description: "The name of the object's file."},
			{Name: "port", Type: number, OptionalForImport: true, Description: "A number."},
			{Name: "public", Type: truth, OptionalForImport: true, Description: "A truth value."},
			{Name: "zones", Type: listOf(text), OptionalForImport: true, Description: "A list."},
		},
	}},
}

// lists list resources of the same name.
var lists = map[string]shape{
	"conformance_identified": {parts: parts{
		about("Lists all, whatever its configuration says."),
		attribute("needed", text, required),
		attribute("zones", listOf(text), optional),
		block("filter", list, parts{attribute("name", text, required), attribute("values", setOf(text), optional)}),
	}},
}

// ephemerals are never stored.
var ephemerals = map[string]shape{
	"conformance_ticket": {parts: parts{
		about("An ephemeral resource of many shapes."),
		attribute("audience", listOf(text), required),
		attribute("ticket", text, computed, sensitive),
		attribute("claims", mapOf(anything), optional),
		attribute("issuer", objectOf(fields{"name": text, "url": text}, "url"), optional),
		block("scope", set, parts{attribute("name", text, required)}),
		block("key", single, leaf),
	}},
	"conformance_ticket_nested": {parts: parts{
		about("An ephemeral resource with nested attributes."),
		nested("issuer", oneObject, leaf, optional),
		nested("scopes", objectMap, leaf, optional),
		attribute("ticket", text, computed, sensitive),
	}},
}

// actions tell of each attribute that is set.
var actions = map[string]shape{
	"conformance_ring": {parts: parts{
		about("An action."),
		attribute("times", number, required),
		attribute("bell", text, optional),
		attribute("pin_wo", text, optional, writeOnly),
		block("pause", list, parts{attribute("seconds", number, required)}),
	}},
}
