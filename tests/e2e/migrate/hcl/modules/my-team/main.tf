variable "size" {
  type = number
}

resource "random_pet" "name" {
  length = var.size
}

module "inner" {
  source = "./inner"
  prefix = random_pet.name.id
}
