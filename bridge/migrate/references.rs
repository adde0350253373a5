//! References of a configuration as references of a program.
//!
//! An expression is carried over if it consists of references to attributes of resources, locals,
//! arguments and outputs of modules, instance keys, and texts around them; and if its value, by the
//! state, is that of the property. So the program has the same inputs as with literals. Functions,
//! operators, conditions and loops stay literals.

use std::collections::BTreeSet;

use hcl_edit::expr::{Expression, Traversal, TraversalOperator};
use hcl_edit::template::{Element, Template};
use isthmus_proto::property::Value as Property;
use isthmus_state::{InstanceKey, ModuleStep, ObjectAddress, ResourceAddress, ResourceMode};

use super::configuration::{Configuration, Module};
use isthmus_translate::property::number_to_json;
use isthmus_translate::property::{PropertyView, unwrap};

/// Nesting of locals, arguments and outputs.
const MAXIMUM_DEPTH: usize = 32;

/// The resources that can be referred to.
pub trait Resources {
    /// Position, reference (without `${` and `}`) and value of an attribute.
    fn attribute(&self, address: &ObjectAddress, attribute: &str) -> Option<(usize, String, Property)>;
}

/// Where an expression is: a module instance, and the key of the instance whose block it is in.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    pub module: &'a [ModuleStep],
    pub key: Option<&'a InstanceKey>,
}

/// An expression in a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// A text with `${…}`, in which other `$` are doubled.
    pub text: String,
    /// Its value by the state, without secret marks.
    pub value: Property,
    /// The resources that it refers to.
    pub positions: BTreeSet<usize>,
}

/// Evaluates expressions.
#[derive(Debug)]
pub struct Evaluator<'a, R> {
    pub configuration: &'a Configuration,
    pub resources: &'a R,
}

impl<R: Resources> Evaluator<'_, R> {
    /// The expression of a property whose value is `literal`; `None` if it stays a literal.
    pub fn reference(
        &self,
        expression: &Expression,
        scope: Scope<'_>,
        literal: &Property,
    ) -> Option<Reference> {
        let found = self.evaluate(expression, scope, 0)?;
        (!found.positions.is_empty() && is_same(&found.value, literal)).then_some(found)
    }

    /// The expression of a resource's attribute.
    pub fn of_resource(
        &self,
        address: &ObjectAddress,
        attribute: &str,
        literal: &Property,
    ) -> Option<Reference> {
        let resource = &address.resource;
        let expression = self.configuration.attribute(resource, attribute)?;
        self.reference(expression, Scope { module: &resource.module, key: address.key.as_ref() }, literal)
    }

    fn module(&self, steps: &[ModuleStep]) -> Option<&Module> {
        let names: Vec<String> = steps.iter().map(|step| step.name.clone()).collect();
        self.configuration.module(&names)
    }

    fn evaluate(&self, expression: &Expression, scope: Scope<'_>, depth: usize) -> Option<Reference> {
        if depth > MAXIMUM_DEPTH {
            return None;
        }
        match expression {
            Expression::String(text) => Some(literal(text)),
            Expression::Number(number) => {
                let number = number.value().as_f64()?;
                let text = number_to_json(number).to_string();
                Some(Reference { value: Property::Number(number), ..literal(&text) })
            }
            Expression::Parenthesis(inner) => self.evaluate(inner.inner(), scope, depth + 1),
            Expression::StringTemplate(template) => self.template(template.iter(), scope, depth),
            Expression::HeredocTemplate(heredoc) if heredoc.indent().is_none() => {
                let template: &Template = &heredoc.template;
                self.template(template.iter(), scope, depth)
            }
            Expression::Traversal(traversal) => self.traversal(traversal, scope, depth),
            _ => None,
        }
    }

    fn template<'e>(
        &self,
        elements: impl Iterator<Item = &'e Element>,
        scope: Scope<'_>,
        depth: usize,
    ) -> Option<Reference> {
        let mut whole = literal("");
        let mut value = String::new();
        for element in elements {
            let part = match element {
                Element::Literal(text) => literal(text),
                Element::Interpolation(interpolation) => {
                    self.evaluate(&interpolation.expr, scope, depth + 1)?
                }
                Element::Directive(_) => return None,
            };
            value.push_str(&match &part.value {
                Property::String(text) => text.clone(),
                Property::Number(number) => number_to_json(*number).to_string(),
                Property::Bool(value) => value.to_string(),
                _ => return None,
            });
            whole.text.push_str(&part.text);
            whole.positions.extend(part.positions);
        }
        Some(Reference { value: Property::String(value), ..whole })
    }

    fn traversal(&self, traversal: &Traversal, scope: Scope<'_>, depth: usize) -> Option<Reference> {
        let Expression::Variable(root) = &traversal.expr else { return None };
        let steps: Vec<Step> = traversal
            .operators
            .iter()
            .map(|operator| self.step(operator.value(), scope, depth))
            .collect::<Option<_>>()?;
        match (root.as_str(), steps.as_slice()) {
            ("each", [Step::Name(name)]) if name == "key" => match scope.key? {
                InstanceKey::Text(key) => Some(literal(key)),
                InstanceKey::Number(_) => None,
            },
            ("count", [Step::Name(name)]) if name == "index" => match scope.key? {
                InstanceKey::Number(index) => Some(literal(&index.to_string())),
                InstanceKey::Text(_) => None,
            },
            ("local", [Step::Name(name)]) => {
                let expression = self.module(scope.module)?.locals.get(name)?;
                self.evaluate(expression, Scope { key: None, ..scope }, depth + 1)
            }
            ("var", [Step::Name(name)]) => {
                let (call, parents) = scope.module.split_last()?;
                let expression = self.module(parents)?.calls.get(&call.name)?.get(name)?;
                self.evaluate(expression, Scope { module: parents, key: call.key.as_ref() }, depth + 1)
            }
            ("module", [Step::Name(name), rest @ ..]) => {
                let (key, rest) = split_key(rest);
                let [Step::Name(output)] = rest else { return None };
                let mut module = scope.module.to_vec();
                module.push(ModuleStep { name: name.clone(), key });
                let expression = self.module(&module)?.outputs.get(output)?;
                self.evaluate(expression, Scope { module: &module, key: None }, depth + 1)
            }
            (
                "data" | "path" | "self" | "terraform" | "tofu" | "each" | "count" | "local" | "var"
                | "module",
                _,
            ) => None,
            (type_name, [Step::Name(name), rest @ ..]) => {
                let (key, rest) = split_key(rest);
                let [Step::Name(attribute)] = rest else { return None };
                let resource = ResourceAddress {
                    module: scope.module.to_vec(),
                    mode: ResourceMode::Managed,
                    type_name: type_name.to_owned(),
                    name: name.clone(),
                };
                let address = ObjectAddress { resource, key, deposed: None };
                let (position, reference, value) = self.resources.attribute(&address, attribute)?;
                Some(Reference {
                    text: format!("${{{reference}}}"),
                    value,
                    positions: BTreeSet::from([position]),
                })
            }
            _ => None,
        }
    }

    fn step(&self, operator: &TraversalOperator, scope: Scope<'_>, depth: usize) -> Option<Step> {
        match operator {
            TraversalOperator::GetAttr(name) => Some(Step::Name(name.as_str().to_owned())),
            TraversalOperator::LegacyIndex(index) => Some(Step::Key(InstanceKey::Number(*index.value()))),
            TraversalOperator::Index(expression) => {
                let index =
                    self.evaluate(expression, scope, depth + 1).filter(|index| index.positions.is_empty())?;
                Some(Step::Key(match index.value {
                    Property::String(text) if is_count(expression) => InstanceKey::Number(text.parse().ok()?),
                    Property::String(text) => InstanceKey::Text(text),
                    Property::Number(number) => InstanceKey::Number(number_to_json(number).as_u64()?),
                    _ => return None,
                }))
            }
            TraversalOperator::AttrSplat(_) | TraversalOperator::FullSplat(_) => None,
        }
    }
}

/// A step of a traversal.
#[derive(Debug)]
enum Step {
    Name(String),
    Key(InstanceKey),
}

fn split_key(steps: &[Step]) -> (Option<InstanceKey>, &[Step]) {
    match steps {
        [Step::Key(key), rest @ ..] => (Some(key.clone()), rest),
        steps => (None, steps),
    }
}

/// Whether an index is `count.index`, whose value is a text here.
fn is_count(expression: &Expression) -> bool {
    matches!(expression, Expression::Traversal(traversal)
        if matches!(&traversal.expr, Expression::Variable(root) if root.as_str() == "count"))
}

fn literal(text: &str) -> Reference {
    Reference { text: text.replace('$', "$$"), value: Property::from(text), positions: BTreeSet::new() }
}

/// Whether two values are the same input: secret marks and the form of numbers do not count.
fn is_same(value: &Property, literal: &Property) -> bool {
    let (Ok((value, _)), Ok((literal, _))) = (unwrap(value), unwrap(literal)) else { return false };
    match (value, literal) {
        (PropertyView::String(value), PropertyView::String(literal)) => value == literal,
        (PropertyView::Number(value), PropertyView::Number(literal)) => value.to_bits() == literal.to_bits(),
        (PropertyView::Bool(value), PropertyView::Bool(literal)) => value == literal,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pets;

    impl Resources for Pets {
        fn attribute(&self, address: &ObjectAddress, attribute: &str) -> Option<(usize, String, Property)> {
            let (position, key, value) = match (address.to_string().as_str(), attribute) {
                ("random_pet.a[0]", "id") => (0, "a-0.id", "able"),
                ("random_pet.a[1]", "id") => (1, "a-1.id", "bold"),
                (r#"module.m["x"].random_pet.b"#, "separator") => (2, "m-x-b.separator", "-"),
                _ => return None,
            };
            Some((position, key.to_owned(), Property::from(value)))
        }
    }

    fn reference(text: &str, scope: Scope<'_>, literal: &str) -> Option<String> {
        let mut configuration = Configuration::default();
        let root = r#"
            locals { first = random_pet.a[0].id }
            module "m" {
              source = "./m"
              pet    = "${local.first}/${each.key}"
            }
        "#;
        configuration.add(&[], root).expect("a configuration");
        let module = "output \"o\" { value = random_pet.b.separator }";
        configuration.add(&["m".to_owned()], module).expect("a configuration");
        let evaluator = Evaluator { configuration: &configuration, resources: &Pets };
        let body = hcl_edit::parser::parse_body(&format!("x = {text}\n")).expect("an attribute");
        let expression = &body.get_attribute("x").expect("an attribute").value;
        evaluator.reference(expression, scope, &Property::from(literal)).map(|found| found.text)
    }

    const ROOT: Scope<'static> = Scope { module: &[], key: None };

    #[test]
    fn references_and_texts_around_them_are_carried_over() {
        for (text, literal, expected) in [
            ("random_pet.a[0].id", "able", "${a-0.id}"),
            ("(random_pet.a.1.id)", "bold", "${a-1.id}"),
            (r#""$${x} ${random_pet.a[0].id}$""#, "${x} able$", "$${x} ${a-0.id}$$"),
            ("local.first", "able", "${a-0.id}"),
            (r#"module.m["x"].o"#, "-", "${m-x-b.separator}"),
        ] {
            assert_eq!(reference(text, ROOT, literal).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn instance_keys_and_arguments_are_those_of_the_instance() {
        let key = InstanceKey::Number(1);
        let counted = Scope { module: &[], key: Some(&key) };
        assert_eq!(reference("random_pet.a[count.index].id", counted, "bold").as_deref(), Some("${a-1.id}"));
        let module = [ModuleStep { name: "m".to_owned(), key: Some(InstanceKey::Text("x".to_owned())) }];
        let inner = Scope { module: &module, key: None };
        assert_eq!(reference("var.pet", inner, "able/x").as_deref(), Some("${a-0.id}/x"));
    }

    #[test]
    fn anything_else_stays_a_literal() {
        for (text, literal) in [
            ("random_pet.a[0].id", "another value"),
            ("\"able\"", "able"),
            ("upper(random_pet.a[0].id)", "ABLE"),
            ("random_pet.a[*].id", "able"),
            ("random_pet.none.id", "able"),
            ("true ? random_pet.a[0].id : \"\"", "able"),
            ("data.random_pet.a.id", "able"),
            ("var.unset", "able"),
        ] {
            assert_eq!(reference(text, ROOT, literal), None, "{text}");
        }
    }
}
