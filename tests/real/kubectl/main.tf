terraform {
  required_providers {
    kubectl = {
      source = "isthmus/kubectl"
    }
  }
}

provider "kubectl" {
  host             = "{{.ADDRESS}}"
  token            = "{{.TOKEN}}"
  insecure         = true
  load_config_file = false
}

resource "kubectl_manifest" "{{if .moved}}store{{else}}shop{{end}}" {
  yaml_body = <<-EOT
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: shop
      namespace: default
    data:
      color: {{if .update}}green{{else}}blue{{end}}
  EOT
}

resource "kubectl_manifest" "till" {
  yaml_body        = <<-EOT
    apiVersion: v1
    kind: Secret
    metadata:
      name: {{if .replace}}till-2{{else}}till-1{{end}}
      namespace: default
    stringData:
      password: pass-1
  EOT
  sensitive_fields = ["stringData.password"]
}

resource "kubectl_manifest" "reader" {
  yaml_body         = <<-EOT
    apiVersion: rbac.authorization.k8s.io/v1
    kind: Role
    metadata:
      name: reader
      namespace: default
    rules:
      - apiGroups: [""]
        resources: [pods]
        verbs: [get{{if .update}}, list{{end}}]
  EOT
  server_side_apply = true
  force_conflicts   = true
}
{{if .moved}}
moved {
  from = kubectl_manifest.shop
  to   = kubectl_manifest.store
}
{{end}}
