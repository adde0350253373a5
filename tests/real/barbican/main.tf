terraform {
  required_providers {
    openstack = {
      source = "isthmus/openstack"
    }
  }
}

provider "openstack" {
  auth_url    = "{{.ADDRESS}}"
  user_name   = "admin"
  password    = "admin-secret"
  tenant_name = "admin"
  domain_id   = "default"
  region      = "here"
}

resource "openstack_keymanager_secret_v1" "{{if .moved}}code{{else}}pin{{end}}" {
  name                 = "pin"
  secret_type          = "passphrase"
  payload              = "1234"
  payload_content_type = "text/plain"

  metadata = {
    desk  = "4"
    floor = {{if .update}}"2"{{else}}"1"{{end}}
  }

  acl {
    read {
      project_access = {{if .update}}true{{else}}false{{end}}
      users          = ["20000000000000000000000000000002", "10000000000000000000000000000001"{{if .update}}, "30000000000000000000000000000003"{{end}}]
    }
  }
}

resource "openstack_keymanager_secret_v1" "sign" {
  name                 = "sign"
  secret_type          = "opaque"
  payload              = "{{if .replace}}Closed{{else}}Open{{end}}"
  payload_content_type = "text/plain"
  expiration           = "2099-12-31T12:00:00Z"
  bit_length           = 48
  algorithm            = "ink"
  mode                 = "block"
}

resource "openstack_keymanager_secret_v1" "note" {
  name                 = "note"
  payload              = "Back soon."
  payload_content_type = "text/plain"
}

resource "openstack_keymanager_container_v1" "safe" {
  name = "safe"
  type = "generic"

  secret_refs {
    name       = "pin"
    secret_ref = openstack_keymanager_secret_v1.{{if .moved}}code{{else}}pin{{end}}.secret_ref
  }

  secret_refs {
    name       = "sign"
    secret_ref = openstack_keymanager_secret_v1.sign.secret_ref
  }

  acl {
    read {
      users = ["10000000000000000000000000000001"]
    }
  }
}

resource "openstack_keymanager_container_v1" "drawer" {
  name = "drawer"
  type = "generic"

  secret_refs {
    secret_ref = openstack_keymanager_secret_v1.sign.secret_ref
  }
{{if .update}}
  secret_refs {
    name       = "pin"
    secret_ref = openstack_keymanager_secret_v1.{{if .moved}}code{{else}}pin{{end}}.secret_ref
  }
{{end}}
}

resource "openstack_keymanager_order_v1" "key" {
  type = "key"

  meta {
    name                 = "key"
    algorithm            = "aes"
    bit_length           = {{if .replace}}128{{else}}256{{end}}
    mode                 = "cbc"
    payload_content_type = "application/octet-stream"
  }
}
{{if .moved}}
moved {
  from = openstack_keymanager_secret_v1.pin
  to   = openstack_keymanager_secret_v1.code
}
{{end}}
