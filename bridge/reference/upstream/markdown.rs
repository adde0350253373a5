//! A provider's page as the description of a package's member, and its first page as the package's overview.
//!
//! Pages are for Terraform: they list arguments, which a package schema does itself, show programs in HCL, and commands of
//! Terraform. Programs stay, because Pulumi runs HCL; an example in other languages is added to them. Names are translated
//! later, with those of the schema.

use super::super::example::{Example, Language};
use super::super::page::Page;
use isthmus_package::catalogue::Package;
use isthmus_package::parameters::{LOCAL_VERSION, ParameterSource};

/// Titles of sections that say what the schema says.
const OF_THE_SCHEMA: [&str; 8] = [
    "schema",
    "argument reference",
    "arguments reference",
    "attribute reference",
    "attributes reference",
    "attributes",
    "arguments",
    "timeouts",
];

/// Commands in code type, and Pulumi's.
const COMMANDS: [(&str, &str); 3] = [
    ("`terraform plan`", "`pulumi preview`"),
    ("`terraform apply`", "`pulumi up`"),
    ("`terraform destroy`", "`pulumi destroy`"),
];

#[derive(Clone, Copy, PartialEq)]
enum Section {
    Introduction,
    OfTheSchema,
    Example,
    Import,
    Other,
}

impl Section {
    fn of(title: &str) -> Self {
        let title = title.trim().to_lowercase();
        match title.as_str() {
            "import" => Self::Import,
            title if OF_THE_SCHEMA.contains(&title) => Self::OfTheSchema,
            title if title.starts_with("example") => Self::Example,
            _ => Self::Other,
        }
    }
}

/// A block of code between its fences, by its language.
struct Code<'a> {
    language: &'a str,
    lines: Vec<&'a str>,
    indent: &'a str,
}

/// What a page consists of.
enum Part<'a> {
    Line(&'a str),
    Code(Code<'a>),
}

/// The description of the member with this token.
pub(super) fn description(page: &str, token: &str, examples: &[Example]) -> String {
    of_pulumi(own_text(page, Some(token), examples).trim())
}

/// A page without what the schema says. Commands that import a member have its token, those of an overview stay.
fn own_text(page: &str, token: Option<&str>, examples: &[Example]) -> String {
    let mut text = String::with_capacity(page.len());
    let mut section = Section::Introduction;
    let mut missing = examples;
    for part in parts(page) {
        match part {
            Part::Line(line) if line.starts_with("# ") || is_comment(line) => {}
            Part::Line(line) => {
                if let Some(title) = line.strip_prefix("## ") {
                    section = Section::of(title);
                    // Before what follows the examples of other pages.
                    if section == Section::Import && !missing.is_empty() {
                        text.push_str("## Example Usage\n\n");
                        choice(&mut text, std::mem::take(&mut missing));
                    }
                }
                let is_import = section == Section::Import && token.is_some();
                let is_superfluous = section == Section::OfTheSchema
                    || is_import && line.starts_with("Import is supported using");
                if !is_superfluous {
                    push_line(&mut text, line);
                }
                if section == Section::Example && line.starts_with("## ") && !missing.is_empty() {
                    text.push('\n');
                    choice(&mut text, std::mem::take(&mut missing));
                }
            }
            Part::Code(code) => match (section, token) {
                (Section::OfTheSchema, _) => {}
                (Section::Import, Some(token)) => import(&mut text, &code, token),
                _ => code.push_to(&mut text),
            },
        }
    }
    if !missing.is_empty() {
        text.push_str("\n\n## Example Usage\n\n");
        choice(&mut text, missing);
    }
    text
}

/// The overview of the package, in the form of Pulumi's registry.
pub(super) fn overview(package: &Package, page: &str, configuration: Option<&Page>) -> String {
    let identity = package.identity();
    let mut title: String = identity.name.clone();
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let provider = match &identity.parameter.source {
        ParameterSource::Remote { url, version } if version == LOCAL_VERSION => url.clone(),
        ParameterSource::Remote { url, version } => format!("{url} {version}"),
        ParameterSource::Local { path } => path.clone(),
    };
    let mut text = format!(
        "---\n# {MADE}\ntitle: {title} Provider\nmeta_desc: How to install and configure the {title} provider for Pulumi.\nlayout: \
         package\n---\n\n## Installation\n\nThe {title} provider is a Terraform provider. Add it to your project, with an SDK in the \
         project's language:\n\n```bash\npulumi package add terraform-provider {provider}\n```\n\n## Overview\n\n"
    );
    text.push_str(&of_pulumi(own_text(page, None, &[]).trim()));
    if let Some(page) = configuration.filter(|page| !page.inputs.is_empty()) {
        text.push_str("\n\n## Configuration Reference\n\n");
        for input in &page.inputs {
            let need = if input.required { "required" } else { "optional" };
            let description = input.description.split_whitespace().collect::<Vec<_>>().join(" ");
            let line = format!("- `{}` ({}, {need}): {description}", input.name, input.type_text);
            text.push_str(line.trim_end_matches([' ', ':']));
            text.push('\n');
        }
    }
    text.trim_end().to_owned() + "\n"
}

/// In each overview, so that no other file is replaced.
pub const MADE: &str = "Made by isthmus; changes are lost when it is made again.";

/// Lines and blocks of code.
fn parts(page: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut open: Option<Code<'_>> = None;
    for line in page.lines() {
        let trimmed = line.trim_start();
        let fence = trimmed.strip_prefix("```");
        match (fence, &mut open) {
            (Some(language), None) => {
                let indent = &line[..line.len() - trimmed.len()];
                open = Some(Code { language: language.trim(), lines: Vec::new(), indent });
            }
            (Some(_), Some(_)) => parts.extend(open.take().map(Part::Code)),
            (None, Some(code)) => code.lines.push(line),
            (None, None) => parts.push(Part::Line(line)),
        }
    }
    // Markdown ends an open block with the page.
    parts.extend(open.map(Part::Code));
    parts
}

impl Code<'_> {
    fn is_hcl(&self) -> bool {
        matches!(self.language, "hcl" | "terraform" | "tf" | "HCL")
    }

    fn push_to(&self, text: &mut String) {
        self.push(text, &self.lines);
    }

    fn push(&self, text: &mut String, lines: &[impl AsRef<str>]) {
        let language = if self.is_hcl() { "terraform" } else { self.language };
        *text += &format!("{}```{language}\n", self.indent);
        for line in lines {
            text.push_str(line.as_ref());
            text.push('\n');
        }
        *text += &format!("{}```\n", self.indent);
    }
}

/// Commands that import, as Pulumi's. Blocks that import are of Terraform's language alone.
fn import(text: &mut String, code: &Code<'_>, token: &str) {
    let is_block = code.lines.iter().any(|line| line.trim_start().starts_with("import {"));
    if is_block {
        return;
    }
    let lines: Vec<String> = code
        .lines
        .iter()
        .map(|line| {
            let command = line.trim_start().trim_start_matches(['$', '%']).trim_start();
            let arguments = command.strip_prefix("terraform import ").map(str::trim_start);
            let Some((address, id)) = arguments.and_then(|rest| rest.split_once(char::is_whitespace)) else {
                return (*line).to_owned();
            };
            let address = address.trim_matches(['\'', '"']);
            let name = address.rsplit('.').next().unwrap_or(address);
            format!("{}$ pulumi import {token} {name} {}", code.indent, id.trim())
        })
        .collect();
    code.push(text, &lines);
}

/// One example in several languages, of which Pulumi's documentation and generators choose.
fn choice(text: &mut String, examples: &[Example]) {
    text.push_str("<!--Start PulumiCodeChooser -->\n");
    for language in [Language::TypeScript, Language::Python, Language::Go, Language::Yaml] {
        for example in examples.iter().filter(|example| example.language == language) {
            *text += &format!("```{}\n{}\n```\n", language.key(), example.code.trim_end());
        }
    }
    text.push_str("<!--End PulumiCodeChooser -->\n");
}

fn is_comment(line: &str) -> bool {
    line.starts_with("<!--") && line.trim_end().ends_with("-->")
}

/// Adds a line, but no second empty one.
fn push_line(text: &mut String, line: &str) {
    if !(line.trim().is_empty() && (text.is_empty() || text.ends_with("\n\n"))) {
        text.push_str(line);
        text.push('\n');
    }
}

fn of_pulumi(text: &str) -> String {
    COMMANDS.iter().fold(text.to_owned(), |text, (terraform, pulumi)| text.replace(terraform, pulumi))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# acme_thing (Resource)

A thing. Run `terraform apply` twice.

## Example Usage

```hcl
resource \"acme_thing\" \"a\" {
# a comment
}
```

<!-- schema generated by tfplugindocs -->
## Schema

### Required

- `length` (Number) The length.

```hcl
left_out = true
```

## Notes

Kept.

## Import

Import is supported using the following syntax:

```terraform
import {
  to = acme_thing.a
}
```

```shell
# By its number.
terraform import 'acme_thing.a' 12,34
```
";

    fn example() -> Vec<Example> {
        [(Language::Yaml, "resources: {}\n"), (Language::Go, "package main\n")]
            .map(|(language, code)| Example { language, code: code.to_owned() })
            .into()
    }

    #[test]
    fn a_page_loses_what_the_schema_says_and_gets_an_example_and_pulumis_commands() {
        let expected = "\
A thing. Run `pulumi up` twice.

## Example Usage

<!--Start PulumiCodeChooser -->
```go
package main
```
```yaml
resources: {}
```
<!--End PulumiCodeChooser -->

```terraform
resource \"acme_thing\" \"a\" {
# a comment
}
```

## Notes

Kept.

## Import

```shell
# By its number.
$ pulumi import acme:index/thing:Thing a 12,34
```";
        assert_eq!(description(PAGE, "acme:index/thing:Thing", &example()), expected);
    }

    #[test]
    fn a_page_without_examples_gets_one_before_its_import() {
        let page = "A thing.\n\n## Import\n\n    terraform import acme_thing.a 1\n";
        let text = description(page, "acme:index/thing:Thing", &example());
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part:?} is not in {text:?}"));
        assert!(at("## Example Usage") < at("## Import"), "{text}");
        let text = description("A thing.", "acme:index/thing:Thing", &example());
        assert!(text.starts_with("A thing.") && text.ends_with("<!--End PulumiCodeChooser -->"), "{text}");
    }

    #[test]
    fn a_block_that_is_not_closed_ends_with_the_page() {
        assert_eq!(description("```hcl\na = 1", "t", &[]), "```terraform\na = 1\n```");
    }
}
