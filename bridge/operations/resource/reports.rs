//! What users are told of operations that are not settled, and what they can do.

use isthmus_common::is_misleading;
use isthmus_state::{Condition, Intent, JournalFault, OpenIntent};

use super::in_sentences;
use super::operations::mark;
use isthmus_package::urn::Urn;

/// An operation and its condition, in one sentence.
pub fn of_operation(open: &OpenIntent) -> String {
    let OpenIntent { intent: Intent { intention, key, subject, .. }, holder, marks, .. } = open;
    let noun = intention.noun();
    let what = match (subject.is_empty(), key.id.is_empty()) {
        (true, _) => key.to_string(),
        (false, true) => format!("{subject} ({} of package {})", key.type_name, key.package),
        (false, false) => format!("{subject} ({key})"),
    };
    match &open.condition {
        Condition::InProgress => format!("the {noun} of {what} is in progress ({holder})"),
        Condition::Interrupted => {
            format!("the {noun} of {what} by {holder} was interrupted: its outcome is unknown")
        }
        Condition::Unconfirmed if marks.has(mark::DOUBTED) => format!(
            "{what} was created by {holder}, and the engine has created the resource again since, which it does if it could \
             not save its state"
        ),
        Condition::Unconfirmed => {
            format!("{what} was created by {holder}, and it is not known whether the engine got the response")
        }
        Condition::Ended { text, .. } => format!("the {noun} of {what} by {holder}: {text}"),
    }
}

/// A creation of which the engine was certainly or probably not told.
pub fn of_creation(open: &OpenIntent) -> String {
    let (id, import) = (open.id, import_command(open));
    let what_to_do = match &open.condition {
        // No URN names the organization, and what the engine has forgotten on purpose looks the same.
        Condition::Unconfirmed if open.marks.has(mark::DOUBTED) => format!(
            "A stack of the same name in another organization may have it, or the stack itself under another URN, or it was \
             removed from the stack on purpose. If none has it, take it over: `{import} > import.json` and \
             `pulumi import --file import.json`; or delete it at the provider. Then `isthmus recover dismiss {id}`"
        ),
        Condition::Unconfirmed => format!(
            "If the stack does not have it, and none of the same name in another organization, take it over: \
             `{import} > import.json` and `pulumi import --file import.json`; or delete it at the provider. Then \
             `isthmus recover dismiss {id}`"
        ),
        Condition::InProgress | Condition::Interrupted | Condition::Ended { .. } => format!(
            "Look at the provider whether it exists. If it does, take it over by \
             `{import} > import.json` with its id and `pulumi import --file import.json`, \
             or delete it there. Then `isthmus recover dismiss {id}`"
        ),
    };
    in_sentences(&[&of_operation(open), &what_to_do])
}

/// The same for a legacy engine, which imports nothing.
pub fn of_creation_for_legacy_engine(open: &OpenIntent) -> String {
    let what_to_do = match &open.condition {
        Condition::Unconfirmed => "If the environment does not have it, delete it by hand",
        Condition::InProgress | Condition::Interrupted | Condition::Ended { .. } => {
            "Look at the provider whether it exists, and delete it there"
        }
    };
    let then = format!("Then `isthmus recover dismiss {}`", open.id);
    in_sentences(&[&of_operation(open), what_to_do, &then])
}

/// The same when the engine creates the resource again.
pub(crate) fn of_lost_creation(open: &OpenIntent) -> String {
    let (id, report) = (open.id, of_operation(open));
    let again = match &open.condition {
        Condition::Unconfirmed => "The engine does not know it, and creates another one now",
        Condition::InProgress | Condition::Interrupted | Condition::Ended { .. } => {
            "The engine creates it now; if it exists already, this is another one"
        }
    };
    let what_to_do = format!(
        "`isthmus recover` lists what is there besides: take it over, or delete it at the provider if no stack has it, and \
         then `isthmus recover dismiss {id}`"
    );
    in_sentences(&[&report, again, &what_to_do])
}

/// An interrupted update or deletion, after which the object differs from the engine's state.
pub(crate) fn of_interrupted_change(open: &OpenIntent, is_there: bool) -> String {
    let differs = if is_there {
        "The object differs from the stack's state"
    } else {
        "The object is not there any more"
    };
    let what_to_do = format!("Run `{}`", refresh_command(open));
    in_sentences(&[&of_operation(open), differs, &what_to_do])
}

/// The command that writes a file for the import of a created object.
pub fn import_command(open: &OpenIntent) -> String {
    let id = if matches!(open.condition, Condition::Unconfirmed) { "" } else { " --id ID" };
    let parent = Urn(&open.intent.subject).parent_type().map_or("", |_| " --parent URN");
    format!("isthmus recover import-file {}{id}{parent}", open.id)
}

/// The command that makes the stack's state that of the object.
pub fn refresh_command(open: &OpenIntent) -> String {
    format!("pulumi refresh --target {}", quoted_for_shell(&open.intent.subject))
}

/// An argument for a shell. A resource's name may hold anything; if it would mislead who reads the
/// command, it is escaped as in Bash and Zsh.
fn quoted_for_shell(argument: &str) -> String {
    if !argument.contains(is_misleading) {
        return format!("'{}'", argument.replace('\'', r"'\''"));
    }
    let mut quoted = String::from("$'");
    for character in argument.chars() {
        match character {
            '\'' | '\\' => quoted.extend(['\\', character]),
            misleading if is_misleading(misleading) => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(misleading)));
            }
            other => quoted.push(other),
        }
    }
    quoted + "'"
}

/// A part of the journal that cannot be read, or something in its place.
pub fn of_fault(fault: &JournalFault) -> String {
    let what_to_do = match fault.id {
        Some(id) => format!("Then `isthmus recover dismiss {id}`"),
        None => "Restore the store from a backup".to_owned(),
    };
    let reason = format!("cannot read all interrupted operations: {}", fault.reason);
    in_sentences(&[&reason, "Compare the provider's objects with the stacks", &what_to_do])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_quoted_as_a_shell_reads_it() {
        for (argument, quoted) in [
            ("urn:pulumi:dev::shop::a:b:C::name $(x) \\", r"'urn:pulumi:dev::shop::a:b:C::name $(x) \'"),
            ("it's \u{645}\u{200c}\u{62e}", "'it'\\''s \u{645}\u{200c}\u{62e}'"),
            ("a\u{202e}it's\\\u{1b}[2J\n", r"$'a\u202eit\'s\\\u001b[2J\u000a'"),
        ] {
            assert_eq!(quoted_for_shell(argument), quoted);
        }
    }
}
