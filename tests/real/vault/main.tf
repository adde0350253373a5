terraform {
  required_providers {
    vault = {
      source = "isthmus/vault"
    }
  }
}

provider "vault" {
  address = "{{.ADDRESS}}"
  token   = "{{.TOKEN}}"
}

resource "vault_policy" "reads" {
  name   = "reads"
  policy = "path \"kv/shop\" { capabilities = [\"read\"{{if .update}}, \"list\"{{end}}] }"
}

resource "vault_auth_backend" "staff" {
  type        = "approle"
  path        = "staff"
  description = "Who works here."

  tune {
    default_lease_ttl            = "{{if .update}}20m{{else}}10m{{end}}"
    max_lease_ttl                = "1h"
    listing_visibility           = "unauth"
    audit_non_hmac_request_keys  = ["role", "shop"]
    audit_non_hmac_response_keys = [{{if .update}}"shop"{{end}}]
  }
}

resource "vault_approle_auth_backend_role" "till" {
  backend               = vault_auth_backend.staff.path
  role_name             = "till"
  token_policies        = [vault_policy.reads.name{{if .update}}, "default"{{end}}]
  token_ttl             = {{if .update}}1200{{else}}600{{end}}
  token_bound_cidrs     = ["10.0.0.0/8", "192.168.0.0/16"]
  secret_id_bound_cidrs = ["10.1.0.0/16"]
}

resource "vault_mount" "kv" {
  path                  = "kv"
  type                  = "kv"
  description           = "{{if .update}}Values{{else}}Secrets{{end}} of the shop"
  max_lease_ttl_seconds = 7200
  options = {
    version = "1"
  }
}

resource "vault_generic_secret" "shop" {
  path = "${vault_mount.kv.path}/shop"
  data_json = jsonencode({
    till = "{{if .update}}secret-2{{else}}secret-1{{end}}"
  })
}

resource "vault_mount" "transit" {
  path = "transit"
  type = "transit"
}

resource "vault_transit_secret_backend_key" "tillKey" {
  backend          = vault_mount.transit.path
  name             = "till"
  type             = "{{if .replace}}chacha20-poly1305{{else}}aes256-gcm96{{end}}"
  deletion_allowed = true
}

resource "vault_identity_entity" "{{if .moved}}salesclerk{{else}}clerk{{end}}" {
  name     = "clerk"
  policies = [vault_policy.reads.name]
  metadata = {
    desk  = "4"
    floor = "{{if .update}}2{{else}}1{{end}}"
  }
}

resource "vault_identity_group" "sellers" {
  name              = "sellers"
  type              = "internal"
  policies          = ["default", vault_policy.reads.name]
  member_entity_ids = [vault_identity_entity.{{if .moved}}salesclerk{{else}}clerk{{end}}.id]
}
{{if .moved}}
moved {
  from = vault_identity_entity.clerk
  to   = vault_identity_entity.salesclerk
}
{{end}}
