variable "prefix" {
  type = string
}

resource "random_string" "text" {
  length  = 5
  keepers = { prefix = var.prefix }
}
