terraform {
  required_providers {
    kubernetes = {
      source = "isthmus/kubernetes"
    }
  }
}

provider "kubernetes" {
  host             = "{{.ADDRESS}}"
  token            = "{{.TOKEN}}"
  insecure         = true
  load_config_file = false
}

resource "kubernetes_config_map" "{{if .moved}}store{{else}}shop{{end}}" {
  metadata {
    name = "shop"
    labels = {
      tier = "{{if .update}}back{{else}}front{{end}}"
    }
    annotations = {
      "example.com/owner" = "sales"
    }
  }
  data = {
    color = "blue"
    {{if .update}}size = "large"{{end}}
  }
  binary_data = {
    logo = "aXN0aG11cw=="
  }
}

resource "kubernetes_secret" "till" {
  metadata {
    name = "till"
  }
  type = "{{if .replace}}example.com/till{{else}}Opaque{{end}}"
  data = {
    password = "{{if .update}}pass-2{{else}}pass-1{{end}}"
    user     = "till"
  }
}

resource "kubernetes_service" "tillService" {
  metadata {
    name = "till"
  }
  spec {
    selector = {
      app = "till"
    }
    port {
      name        = "http"
      port        = 80
      target_port = "{{if .update}}web{{else}}8080{{end}}"
    }
    port {
      name        = "metrics"
      port        = 9090
      target_port = 9090
    }
    external_ips = ["192.0.2.7", "192.0.2.8"]
  }
}

resource "kubernetes_role" "reader" {
  metadata {
    name = "reader"
  }
  rule {
    api_groups = [""]
    resources  = ["pods", "services"]
    verbs      = ["get", "list"{{if .update}}, "watch"{{end}}]
  }
  {{if .update}}
  rule {
    api_groups     = [""]
    resources      = ["configmaps"]
    resource_names = ["shop"]
    verbs          = ["get"]
  }
  {{end}}
}

resource "kubernetes_role_binding" "readers" {
  metadata {
    name = "reader"
  }
  role_ref {
    api_group = "rbac.authorization.k8s.io"
    kind      = "Role"
    name      = kubernetes_role.reader.metadata[0].name
  }
  subject {
    kind      = "User"
    name      = "clerk"
    api_group = "rbac.authorization.k8s.io"
  }
}

resource "kubernetes_network_policy" "policy" {
  metadata {
    name = "shop"
  }
  spec {
    pod_selector {
      match_expressions {
        key      = "app"
        operator = "In"
        values   = ["shop", "till"]
      }
    }
    policy_types = ["Ingress"]
    ingress {
      ports {
        port     = "http"
        protocol = "TCP"
      }
      from {
        ip_block {
          cidr   = "10.0.0.0/8"
          except = ["10.1.0.0/16"{{if .update}}, "10.2.0.0/16"{{end}}]
        }
      }
    }
  }
}

resource "kubernetes_limit_range" "limits" {
  metadata {
    name = "shop"
  }
  spec {
    limit {
      type = "Container"
      default = {
        cpu    = "{{if .update}}100m{{else}}50m{{end}}"
        memory = "64Mi"
      }
    }
  }
}
{{if .moved}}
moved {
  from = kubernetes_config_map.shop
  to   = kubernetes_config_map.store
}
{{end}}
