"""Creates a stack with one resource, prints its name, and destroys it again."""

import pulumi
import pulumi_random as random
from pulumi import automation


def program() -> None:
    pet = random.Pet("pet", length=2)
    pulumi.export("name", pet.id)


def main() -> None:
    stack = automation.create_or_select_stack("dev", project_name="pets", program=program)
    result = stack.up()
    print("created:", result.outputs["name"].value)
    preview = stack.preview(expect_no_changes=True)
    print("unchanged:", preview.change_summary)
    stack.destroy()
    print("destroyed")


if __name__ == "__main__":
    main()
