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

resource "openstack_identity_project_v3" "shop" {
  name        = "shop"
  description = "{{if .update}}Sells more.{{else}}Sells.{{end}}"
  tags        = [{{if .update}}"large", {{end}}"open", "south"]
}

resource "openstack_identity_role_v3" "seller" {
  name = "{{if .update}}vendor{{else}}seller{{end}}"
}

resource "openstack_identity_role_v3" "buyer" {
  name = "buyer"
}

resource "openstack_identity_user_v3" "{{if .moved}}salesclerk{{else}}clerk{{end}}" {
  name               = "clerk"
  default_project_id = openstack_identity_project_v3.shop.id
  password           = "{{if .update}}pass-2{{else}}pass-1{{end}}"

  ignore_change_password_upon_first_use = true
  multi_factor_auth_enabled             = true

  multi_factor_auth_rule {
    rule = ["password", "totp"]
  }
{{if not .update}}
  multi_factor_auth_rule {
    rule = ["password"]
  }
{{end}}
  extra = {
    email = "clerk@example.com"
    {{if .update}}desk = "4"{{end}}
  }
}

resource "openstack_identity_role_assignment_v3" "sells" {
  user_id    = openstack_identity_user_v3.{{if .moved}}salesclerk{{else}}clerk{{end}}.id
  project_id = openstack_identity_project_v3.shop.id
  role_id    = openstack_identity_role_v3.{{if .replace}}buyer{{else}}seller{{end}}.id
}

resource "openstack_identity_service_v3" "till" {
  name        = "till"
  type        = "payment"
  description = "Takes money."
}

resource "openstack_identity_endpoint_v3" "tillEndpoint" {
  name            = "till"
  service_id      = openstack_identity_service_v3.till.id
  endpoint_region = "here"
  region          = "here"
  url             = "http://till.example.com/v{{if .update}}2{{else}}1{{end}}"
}
{{if .moved}}
moved {
  from = openstack_identity_user_v3.clerk
  to   = openstack_identity_user_v3.salesclerk
}
{{end}}
