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

resource "openstack_networking_qos_policy_v2" "steady" {
  name        = "steady"
  description = "{{if .update}}Nobody waits long.{{else}}Nobody waits.{{end}}"
}

resource "openstack_networking_qos_bandwidth_limit_rule_v2" "outwards" {
  qos_policy_id  = openstack_networking_qos_policy_v2.steady.id
  max_kbps       = {{if .update}}5000{{else}}3000{{end}}
  max_burst_kbps = 300
  direction      = "egress"
}

resource "openstack_networking_subnetpool_v2" "addresses" {
  name              = "addresses"
  prefixes          = [{{if .update}}"10.18.0.0/16", {{end}}"10.20.0.0/16"]
  default_prefixlen = 24
  min_prefixlen     = 20
  tags              = [{{if .update}}"more", {{end}}"shops"]
}

resource "openstack_networking_network_v2" "street" {
  name     = "street"
  external = true

  segments {
    network_type     = "vlan"
    physical_network = "wires"
    segmentation_id  = 150
  }
}

resource "openstack_networking_subnet_v2" "houses" {
  name        = "houses"
  network_id  = openstack_networking_network_v2.street.id
  cidr        = "198.51.100.0/24"
  gateway_ip  = "198.51.100.1"
  enable_dhcp = false

  allocation_pool {
    start = "198.51.100.10"
    end   = "198.51.100.99"
  }
{{if .update}}
  allocation_pool {
    start = "198.51.100.200"
    end   = "198.51.100.210"
  }
{{end}}
  allocation_pool {
    start = "198.51.100.120"
    end   = "198.51.100.130"
  }
}

resource "openstack_networking_network_v2" "floor" {
  name           = "floor"
  description    = "{{if .update}}Where things are bought.{{else}}Where things are sold.{{end}}"
  admin_state_up = true
  mtu            = 1400
  qos_policy_id  = openstack_networking_qos_policy_v2.steady.id
  tags           = ["shop", "inside"]

  segments {
    network_type     = "vlan"
    physical_network = "wires"
    segmentation_id  = 101
  }
}

resource "openstack_networking_subnet_v2" "tills" {
  name            = "tills"
  network_id      = openstack_networking_network_v2.floor.id
  subnetpool_id   = openstack_networking_subnetpool_v2.addresses.id
  cidr            = "10.20.4.0/24"
  dns_nameservers = ["10.20.4.3"{{if .update}}, "10.20.4.2"{{end}}, "10.20.4.4"]
  tags            = ["tills"]
}

resource "openstack_networking_network_v2" "back" {
  name                  = "back"
  port_security_enabled = false

  segments {
    network_type     = "vlan"
    physical_network = "wires"
    segmentation_id  = 102
  }
}

resource "openstack_networking_subnet_v2" "stock" {
  name          = "stock"
  network_id    = openstack_networking_network_v2.back.id
  cidr          = "10.40.{{if .replace}}8{{else}}0{{end}}.0/24"
  no_gateway    = true
  service_types = ["compute:stock", "network:dhcp"]
}

resource "openstack_networking_router_v2" "door" {
  name                = "door"
  description         = "{{if .update}}Wide open.{{else}}Open.{{end}}"
  external_network_id = openstack_networking_network_v2.street.id
  enable_snat         = {{if .update}}true{{else}}false{{end}}

  external_fixed_ip {
    subnet_id  = openstack_networking_subnet_v2.houses.id
    ip_address = "198.51.100.10"
  }

  vendor_options {
    set_router_gateway_after_create = true
  }

  tags = ["front"]
}

resource "openstack_networking_router_interface_v2" "entrance" {
  router_id = openstack_networking_router_v2.door.id
  subnet_id = openstack_networking_subnet_v2.tills.id
}

resource "openstack_networking_router_routes_v2" "ways" {
  router_id = openstack_networking_router_interface_v2.entrance.router_id

  routes {
    destination_cidr = "10.50.0.0/16"
    next_hop         = "10.20.4.50"
  }
{{if .update}}
  routes {
    destination_cidr = "10.51.0.0/16"
    next_hop         = "10.20.4.51"
  }
{{end}}
}

resource "openstack_networking_address_group_v2" "partners" {
  name      = "partners"
  addresses = ["192.0.2.0/24", {{if .update}}"203.0.113.16/28"{{else}}"203.0.113.0/28"{{end}}]
}

resource "openstack_networking_secgroup_v2" "guards" {
  name        = "{{if .update}}porters{{else}}guards{{end}}"
  description = "Who may come in."
  tags        = ["doors"]
}

resource "openstack_networking_secgroup_rule_v2" "buyers" {
  security_group_id = openstack_networking_secgroup_v2.guards.id
  direction         = "ingress"
  ethertype         = "IPv4"
  protocol          = "tcp"
  port_range_min    = {{if .replace}}8080{{else}}80{{end}}
  port_range_max    = 8080
  remote_ip_prefix  = "10.0.0.0/8"
  description       = "Buyers"
}

resource "openstack_networking_secgroup_rule_v2" "staff" {
  security_group_id = openstack_networking_secgroup_v2.guards.id
  direction         = "ingress"
  ethertype         = "IPv4"
  remote_group_id   = openstack_networking_secgroup_v2.guards.id
}

resource "openstack_networking_secgroup_rule_v2" "suppliers" {
  security_group_id       = openstack_networking_secgroup_v2.guards.id
  direction               = "ingress"
  ethertype               = "IPv4"
  protocol                = "udp"
  remote_address_group_id = openstack_networking_address_group_v2.partners.id
}

resource "openstack_networking_port_v2" "{{if .moved}}counter{{else}}till{{end}}" {
  name               = "till"
  network_id         = openstack_networking_network_v2.floor.id
  admin_state_up     = true
  security_group_ids = [openstack_networking_secgroup_v2.guards.id]

  fixed_ip {
    subnet_id  = openstack_networking_subnet_v2.tills.id
    ip_address = "10.20.4.20"
  }
{{if .update}}
  fixed_ip {
    subnet_id  = openstack_networking_subnet_v2.tills.id
    ip_address = "10.20.4.12"
  }
{{end}}
  allowed_address_pairs {
    ip_address = "10.20.4.30"
  }

  allowed_address_pairs {
    ip_address  = "10.20.4.31"
    mac_address = "02:00:00:00:00:31"
  }
{{if .update}}
  allowed_address_pairs {
    ip_address = "10.20.5.0/24"
  }
{{end}}
  extra_dhcp_option {
    name  = "mtu"
    value = "1400"
  }
{{if not .update}}
  extra_dhcp_option {
    name  = "domain-name"
    value = "shop.example.com"
  }
{{end}}
  tags = [{{if .update}}"card", {{end}}"cash"]
}

resource "openstack_networking_port_v2" "scales" {
  name       = "scales"
  network_id = openstack_networking_network_v2.floor.id

  fixed_ip {
    subnet_id  = openstack_networking_subnet_v2.tills.id
    ip_address = "10.20.4.21"
  }

  binding {
    vnic_type = "{{if .update}}direct{{else}}normal{{end}}"
  }

  no_security_groups    = true
  port_security_enabled = false
}

resource "openstack_networking_port_v2" "scanner" {
  name        = "scanner"
  network_id  = openstack_networking_network_v2.floor.id
  mac_address = "02:00:00:00:00:22"

  fixed_ip {
    subnet_id  = openstack_networking_subnet_v2.tills.id
    ip_address = "10.20.4.22"
  }
}

resource "openstack_networking_floatingip_v2" "calls" {
  pool        = openstack_networking_network_v2.street.name
  address     = "198.51.100.20"
  description = "{{if .update}}Ring twice.{{else}}Ring.{{end}}"
  port_id     = openstack_networking_port_v2.scanner.id
  fixed_ip    = "10.20.4.22"
  depends_on  = [openstack_networking_router_interface_v2.entrance]
}

resource "openstack_networking_rbac_policy_v2" "guests" {
  action        = "access_as_shared"
  object_type   = "network"
  object_id     = openstack_networking_network_v2.floor.id
  target_tenant = {{if .update}}"20000000000000000000000000000002"{{else}}"10000000000000000000000000000001"{{end}}
}
{{if .moved}}
moved {
  from = openstack_networking_port_v2.till
  to   = openstack_networking_port_v2.counter
}
{{end}}
