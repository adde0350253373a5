//! A project of many resources on one side, and the same resources of an engine on the other, taken through steps.

mod deployment;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use isthmus_cty::json::from_tree;
use isthmus_package::shape::{ObjectShape, ResourceShape, Shape};
use isthmus_proto::property::Struct;
use isthmus_sandbox::Protocol;
use isthmus_test_engine::json_of;
use isthmus_translate::meta::Meta;
use isthmus_translate::raw_state::{RawStateSource, stored_raw_state};
use serde_json::Value as Json;

use crate::compare::{Difference, differences, places};
use crate::daemon::{Failure, Isthmus, Named, Options, Stored};
use crate::kinds::{CONFIGURATION, KINDS, Kind, Provider, Timeouts};
use crate::legacy;
use crate::lottery::Lottery;
use crate::preview::{Preview, shown_by_isthmus, shown_by_opentofu};
use crate::providers::{Schemas, Service, Setting};
use crate::report::Report;
use crate::requests::{Record, Request, shown};
use crate::rules::is_emptied;
use crate::steps::{Decision, Edit, Outside, Step};
use crate::tofu::{Configured, InState, Tofu, choice};
use crate::wish::{Members, Wish, Wishes, known, pulumi_inputs, tofu_json};

/// How many resources of a kind there are, unless there can only be one or `ISTHMUS_TOFU_OF_A_KIND` is another number.
const OF_A_KIND: usize = 2;

/// The places of sensitive values in objects.
const SECRETS: [&str; 2] = ["/state/secret", "/owner"];

/// How many parts the kinds are dealt into; a world has one of them, by its seed. It is odd, because every second seed is of
/// the same protocol: so that twice as many seeds in a row bring each part on both.
const PARTS: u64 = 5;

/// Both sides.
#[derive(Debug)]
pub(crate) struct World {
    seed: u64,
    setting: Setting,
    schemas: BTreeMap<Provider, Arc<Schemas>>,
    directory: PathBuf,
    tofu: Tofu,
    /// The configurations of the providers, as the engine has them.
    configurations: BTreeMap<Provider, Struct>,
    /// Those of the engine's command. Today's engine goes on with the same.
    daemons: BTreeMap<Provider, Arc<Isthmus>>,
    resources: Vec<Resource>,
    our_records: BTreeMap<Provider, Record>,
    their_records: BTreeMap<Provider, Record>,
    /// What the providers were asked about themselves: by us, and by OpenTofu.
    about_providers: BTreeMap<Provider, (Vec<Request>, Vec<Request>)>,
    /// Our requests in the rounds before whose answers isthmus remembers, by the type of resource.
    asked: BTreeMap<&'static str, Vec<Request>>,
    lottery: Lottery,
    rounds: usize,
}

#[derive(Debug)]
struct Resource {
    kind: &'static Kind,
    shape: Arc<ResourceShape>,
    named: Named,
    marker: String,
    lottery: Lottery,
    /// What the program comes to; nothing when it does not have the resource.
    wish: Option<Members>,
    /// What it says.
    program: Members,
    /// Whether the engine can import it.
    imports: bool,
    /// How often the resource whose output chooses its values has changed.
    turns: usize,
    /// How often it had when it was made last.
    made: Option<usize>,
    /// What the engine stores.
    stored: Option<Stored>,
    /// The object that a replacement has created another for.
    replaced: Option<Stored>,
    /// Whether the last change has failed, so that today's engine sends an update even where nothing differs.
    is_half_made: bool,
    /// Whether a deletion has failed since the engine has learnt of the object: OpenTofu has what that left, and an engine what
    /// was before.
    is_half_deleted: bool,
    /// All ids that it has had.
    ids: Vec<String>,
    /// Whether the two sides have come to different ends, so that nothing is compared until it is removed.
    is_astray: bool,
    /// Whether the last command decided something else after its preview.
    has_turned: bool,
    /// The last answer to Diff, for whoever has to find out why it was decided so.
    difference: String,
}

impl World {
    /// Starts both sides, with nothing in them.
    pub(crate) async fn new(seed: u64, of_a_kind: Option<usize>, directory: &Path) -> Self {
        let setting = Setting::of(seed);
        let schemas = Schemas::of_all(setting, &[]).await;
        let mut lottery = Lottery::new(seed);
        let (ours, theirs) = (directory.join("isthmus"), directory.join("opentofu"));
        let mut tofu = Tofu::new(setting, &theirs);
        let mut configurations = BTreeMap::new();
        for provider in Provider::ALL {
            let shape = schemas[&provider].configuration();
            let wishes = Wishes { kind: &CONFIGURATION, shape: &shape, marker: "" };
            let wish = wishes.new_wish(&mut lottery.split());
            tofu.configure(provider, tofu_json(&wish, &shape.object));
            configurations.insert(provider, pulumi_inputs(&wish, &shape.object));
        }
        let records = |directory: &Path| {
            Provider::ALL
                .map(|provider| {
                    (provider, Record::new(directory.join(format!("requests-{}", provider.name()))))
                })
                .into()
        };
        let mut resources = Vec::new();
        let dealt = KINDS.iter().zip((0..PARTS).cycle()).filter(|(_, part)| *part == seed % PARTS);
        let kinds = dealt
            .map(|(kind, _)| kind)
            .filter(|kind| setting.protocol == Protocol::V6 || kind.on_protocol_5)
            .filter(|kind| !setting.legacy || kind.as_older_sdk);
        for kind in kinds {
            let shape = schemas[&kind.provider].shape(kind.type_name);
            for _ in 0..if kind.alone { 1 } else { of_a_kind.unwrap_or(OF_A_KIND) } {
                let marker = format!("res{:03}x", resources.len());
                let named =
                    Named { token: shape.token.clone(), name: marker.clone(), options: Options::default() };
                let lottery = lottery.split();
                let shape = Arc::clone(&shape);
                let ids = Vec::new();
                resources.push(Resource {
                    kind,
                    shape,
                    named,
                    marker,
                    lottery,
                    wish: None,
                    program: Members::new(),
                    imports: kind.imports && setting.service == Service::Pulumirpc,
                    turns: 0,
                    made: (setting.service == Service::Lumirpc).then_some(0),
                    stored: None,
                    replaced: None,
                    is_half_made: false,
                    is_half_deleted: false,
                    ids,
                    is_astray: false,
                    has_turned: false,
                    difference: String::new(),
                });
            }
        }
        let (our_records, their_records) = (records(&ours), records(&theirs));
        let world = Self {
            seed,
            setting,
            schemas,
            directory: directory.to_owned(),
            tofu,
            configurations,
            daemons: BTreeMap::new(),
            resources,
            our_records,
            their_records,
            about_providers: BTreeMap::new(),
            asked: BTreeMap::new(),
            lottery,
            rounds: 0,
        };
        if setting.service == Service::Lumirpc {
            world.tofu_plan(&[], &[], &[]);
            world.tofu.apply();
        }
        world
    }

    /// How many steps a round is.
    pub(crate) fn size(&self) -> usize {
        self.resources.len()
    }

    /// Takes every resource one step further.
    pub(crate) async fn round(&mut self, report: &mut Report) {
        let refreshes = self.setting.service == Service::Pulumirpc;
        let refresh = refreshes && self.rounds > 0 && self.lottery.percent(40);
        let steps: Vec<Step> = self.resources.iter_mut().map(|resource| resource.draw(refresh)).collect();
        self.step(&steps, report).await;
    }

    /// Removes everything.
    pub(crate) async fn end(&mut self, report: &mut Report) {
        report.lives += self.size();
        for resource in &mut self.resources {
            resource.wish = None;
            resource.made = None;
        }
        let step = Step { edit: Edit::Remove, ..Step::NONE };
        self.step(&vec![step; self.resources.len()], report).await;
        self.compare_configurations(report);
        let (mut ours, mut theirs) = self.objects();
        // What tells of a deletion is no object.
        for objects in [&mut ours, &mut theirs] {
            objects.retain(|path, _| !path.contains("_deleted/"));
        }
        assert!(
            ours.is_empty() && theirs.is_empty(),
            "seed {}: objects are left: {ours:?} {theirs:?}",
            self.seed
        );
    }

    async fn step(&mut self, steps: &[Step], report: &mut Report) {
        self.rounds += 1;
        self.edit_objects(steps);
        let ids: Vec<Option<String>> = self
            .resources
            .iter()
            .zip(steps)
            .map(|(resource, step)| {
                resource.stored.as_ref().filter(|_| step.imports()).map(|stored| stored.id.clone())
            })
            .collect();

        self.begin_command().await;
        let shown = self
            .each(|index, mut resource, isthmus| {
                let (step, id) = (steps[index].clone(), ids[index].clone());
                async move {
                    let preview = resource.preview(&isthmus, &step, id.as_deref()).await;
                    (resource, preview)
                }
            })
            .await;
        let mut previews = Vec::new();
        for ((preview, resource), step) in shown.into_iter().zip(&self.resources).zip(steps) {
            match preview {
                Ok(preview) => previews.push(preview),
                Err(error) => {
                    let text = format!("isthmus, in the preview: {error}");
                    report.fail(self.told(resource, step, &text));
                }
            }
        }
        if report.has_failed() {
            return;
        }
        let decisions: Vec<Decision> = previews.iter().map(|(decision, _)| *decision).collect();
        let theirs = self.tofu_plan(steps, &ids, &decisions);
        for ((resource, step), (decision, shown)) in self.resources.iter().zip(steps).zip(&previews) {
            report.count(self.setting.service, resource.kind.type_name, *decision, step);
            if let (Some(shown), Some((their, preview))) = (shown, theirs.get(&resource.named.name))
                && their == decision
            {
                report.previews += 1;
                self.compare_previews(resource, step, shown, preview, report);
            }
        }
        let untouched = self.compare_decisions(steps, &decisions, &theirs, report);
        let decisions = match self.setting.service {
            Service::Pulumirpc => decisions,
            Service::Lumirpc => self.deployment(steps, decisions, untouched, report).await,
        };
        let mut failed = self.tofu.apply();
        if self.setting.service == Service::Lumirpc {
            self.destroy_tainted();
        }
        for resource in &mut self.resources {
            resource.made = resource.turn();
        }
        let resources = self.resources.iter().enumerate();
        let astray: Vec<usize> =
            resources.filter(|(_, resource)| resource.is_astray).map(|(index, _)| index).collect();
        let applied = self
            .each(|index, mut resource, isthmus| {
                let (step, decision) = (steps[index].clone(), decisions[index]);
                async move {
                    let applied = resource.apply(&isthmus, &step, decision).await;
                    (resource, applied)
                }
            })
            .await;
        // At the end, as engines do.
        let deleted = self
            .each(|_, mut resource, isthmus| async move {
                let deleted = resource.delete_replaced(&isthmus).await;
                (resource, deleted)
            })
            .await;
        let applied = applied.into_iter().zip(deleted).map(|(applied, deleted)| applied.and(deleted));
        for (index, ((step, decision), applied)) in steps.iter().zip(&decisions).zip(applied).enumerate() {
            let resource = &mut self.resources[index];
            let mut their = failed.remove(&resource.named.name);
            report.failures_of_providers += usize::from(their.is_some());
            if applied.is_ok() && *decision == Decision::Update {
                let is_applied_as_planned = self.setting.service == Service::Pulumirpc;
                their = their.filter(|their| !is_lenient_about(their));
                // OpenTofu refuses the last plan also of what turns out not to change, which no engine applies.
                let is_refused = |errors: &Vec<String>| {
                    is_applied_as_planned
                        && step.unknown
                        && errors
                            .iter()
                            .all(|error| error.contains("Provider produced inconsistent final plan"))
                };
                if let Some(errors) = their.take_if(|errors| is_refused(errors)) {
                    resource.is_astray = true;
                    report.astray += usize::from(!errors.is_empty());
                }
            }
            // It is removed now.
            if resource.wish.is_none() && resource.stored.is_none() {
                resource.is_astray = false;
            }
            if applied.is_err() != their.is_some() {
                let text = format!("isthmus: {applied:?}\n  OpenTofu: {their:?}");
                report.fail(self.told(&self.resources[index], step, &text));
            }
            let resource = &mut self.resources[index];
            if let Some(stored) = &resource.stored {
                resource.ids.push(stored.id.clone());
            }
        }
        assert!(failed.is_empty(), "OpenTofu has failed elsewhere: {failed:?}");
        for directory in self.troubles().into_iter().filter(|directory| directory.exists()) {
            std::fs::remove_dir_all(directory).expect("a directory of ours");
        }
        self.compare_states(steps, &decisions, report).await;
        self.compare_objects(report);
        self.compare_requests(steps, &decisions, &astray, report);
        self.look_up(steps, report).await;
    }

    /// Starts isthmus for the engine's next command. The legacy engine kills that of the last one first. Today's engine starts a
    /// plugin for each command as well; here it does so after an update that turned out to replace, which it would have
    /// carried out.
    async fn begin_command(&mut self) {
        let has_turned = self
            .resources
            .iter_mut()
            .fold(false, |any, resource| any | std::mem::take(&mut resource.has_turned));
        if has_turned || self.setting.service == Service::Lumirpc {
            self.daemons.clear();
            // The processes of a command remember nothing of the one before.
            self.asked.clear();
        }
        let directory = self.directory.join("isthmus");
        for (provider, configuration) in &self.configurations {
            if !self.daemons.contains_key(provider) {
                let isthmus = Isthmus::start(*provider, self.setting, configuration, &directory).await;
                self.daemons.insert(*provider, Arc::new(isthmus));
            }
        }
    }

    /// The outcomes of calls about each resource. As with an engine, those about different resources are made at once.
    async fn each<T, Calls>(&mut self, call: impl Fn(usize, Resource, Arc<Isthmus>) -> Calls) -> Vec<T>
    where
        T: Send + 'static,
        Calls: Future<Output = (Resource, T)> + Send + 'static,
    {
        let mut begun = Vec::new();
        for (index, resource) in std::mem::take(&mut self.resources).into_iter().enumerate() {
            let isthmus = Arc::clone(&self.daemons[&resource.kind.provider]);
            begun.push(tokio::spawn(call(index, resource, isthmus)));
        }
        let mut outcomes = Vec::new();
        for begun in begun {
            let (resource, outcome) = begun.await.expect("the calls about a resource end");
            self.resources.push(resource);
            outcomes.push(outcome);
        }
        outcomes
    }

    /// Compares the decisions. Those resources are returned that only OpenTofu would change.
    ///
    /// The legacy engine updates wherever its inputs differ. Where OpenTofu does nothing then, the update has to leave
    /// everything as it is. Where its inputs are the same it calls nothing, whatever a provider would plan.
    fn compare_decisions(
        &self,
        steps: &[Step],
        ours: &[Decision],
        theirs: &BTreeMap<String, (Decision, Preview)>,
        report: &mut Report,
    ) -> Vec<String> {
        let mut untouched = Vec::new();
        for ((resource, step), our) in self.resources.iter().zip(steps).zip(ours) {
            let their = theirs.get(&resource.named.name).map(|(their, _)| *their).unwrap_or_default();
            match (self.setting.service, our, their) {
                (_, our, their) if *our == their => {}
                (Service::Lumirpc, Decision::Update, Decision::Nothing) => {}
                (Service::Lumirpc, Decision::Nothing, Decision::Update) if resource.is_restless() => {
                    untouched.push(resource.address());
                }
                _ => {
                    let difference = &resource.difference;
                    let text =
                        format!("isthmus decides: {our}; OpenTofu decides: {their}; Diff: {difference}");
                    report.fail(self.told(resource, step, &text));
                }
            }
        }
        untouched
    }

    fn tofu_plan(
        &self,
        steps: &[Step],
        ids: &[Option<String>],
        decisions: &[Decision],
    ) -> BTreeMap<String, (Decision, Preview)> {
        let mut configured = Vec::new();
        for (((resource, id), decision), step) in self.resources.iter().zip(ids).zip(decisions).zip(steps) {
            if step.imports() {
                self.tofu.forget(&resource.named.name);
            }
            if resource.wish.is_some() {
                configured.push(Configured {
                    type_name: resource.kind.type_name,
                    name: resource.named.name.clone(),
                    body: tofu_json(&resource.program, &resource.shape.object),
                    create_first: *decision != Decision::ReplaceDeletingFirst,
                    import: id.clone(),
                });
            }
        }
        let choosers = self
            .resources
            .iter()
            .filter_map(|resource| Some((resource.named.name.as_str(), resource.turn()?)))
            .collect();
        self.tofu.write(&configured, &choosers);
        self.tofu.plan(steps.iter().any(|step| step.refresh), &[])
    }

    /// Where the providers of both sides read what goes wrong.
    fn troubles(&self) -> [PathBuf; 2] {
        ["isthmus", "opentofu"].map(|side| self.directory.join(side).join("objects/trouble"))
    }

    /// Does to the objects of both sides what somebody else did.
    fn edit_objects(&self, steps: &[Step]) {
        for (resource, step) in self.resources.iter().zip(steps) {
            if let (Some((operation, trouble)), Some(name)) = (step.trouble, resource.name()) {
                for directory in self.troubles() {
                    std::fs::create_dir_all(&directory).expect("a directory in a directory of ours");
                    let file = directory.join(format!("{name}.json"));
                    let troubles = serde_json::json!({operation: trouble});
                    std::fs::write(file, troubles.to_string()).expect("a file of ours");
                }
            }
            let Some(stored) = resource.stored.as_ref().filter(|_| step.outside != Outside::Nothing) else {
                continue;
            };
            for side in ["isthmus", "opentofu"] {
                let Some(path) = object_file(&self.directory.join(side).join("objects"), &stored.id) else {
                    continue;
                };
                match &step.outside {
                    Outside::Nothing => {}
                    Outside::Vanish => std::fs::remove_file(&path).expect("a file of ours"),
                    Outside::Drift(pointer, value) => {
                        let text = std::fs::read_to_string(&path).expect("a file of ours");
                        let mut object: Json = serde_json::from_str(&text).expect("an object is JSON");
                        if let Some(place) = object.pointer_mut(pointer) {
                            *place = value.clone();
                        }
                        std::fs::write(&path, object.to_string()).expect("a file of ours");
                    }
                }
            }
        }
    }

    fn compare_previews(
        &self,
        resource: &Resource,
        step: &Step,
        shown: &Struct,
        preview: &Preview,
        report: &mut Report,
    ) {
        let ours = shown_by_isthmus(shown, &resource.shape);
        let theirs = shown_by_opentofu(preview, &resource.shape);
        for place in places(&ours, &theirs) {
            report.fail(self.told(resource, step, &format!("the previews differ: {place:?}")));
        }
    }

    async fn compare_states(&self, steps: &[Step], decisions: &[Decision], report: &mut Report) {
        let mut theirs = self.tofu.state();
        let mut records = BTreeMap::new();
        if self.setting.service == Service::Lumirpc {
            for provider in Provider::ALL {
                records.extend(legacy::stored_states(provider, &self.directory.join("isthmus")).await);
            }
        }
        for ((resource, step), decision) in self.resources.iter().zip(steps).zip(decisions) {
            let their = theirs.remove(&resource.named.name);
            let our = resource.stored.as_ref().and_then(|stored| match self.setting.service {
                Service::Pulumirpc => Some(state_in(stored, &resource.shape)),
                Service::Lumirpc => records.remove(&(resource.kind.type_name.to_owned(), stored.id.clone())),
            });
            // Today's engine has what was before the deletion.
            let is_behind = resource.is_half_deleted && self.setting.service == Service::Pulumirpc;
            if resource.is_astray || is_behind {
                continue;
            }
            let (Some(our), Some(their)) = (&our, &their) else {
                if our.is_some() || resource.stored.is_some() || their.is_some() {
                    let text = format!("isthmus has {:?}, OpenTofu has {their:?}", resource.stored);
                    report.fail(self.told(resource, step, &text));
                }
                continue;
            };
            let own = &resource.shape.schema.block.implied_type;
            let their_value = from_tree(&their.attributes, own).expect("OpenTofu's state conforms");
            let our_value = from_tree(&our.attributes, own).expect("our state conforms");
            for place in places(&shown(&our_value), &shown(&their_value)) {
                // Of what does not change, OpenTofu stores the upgraded state, and an engine what it has. An upgrade by the older SDK
                // makes empty sets of those that are null.
                let is_upgraded = is_emptied(&place.ours, &place.theirs)
                    && resource.kind.type_name.starts_with("conformance_legacy");
                let may_be_unchanged =
                    *decision == Decision::Nothing || (*decision == Decision::Update && step.unknown);
                if may_be_unchanged && is_upgraded {
                    report.upgraded += 1;
                    continue;
                }
                report.fail(self.told(resource, step, &format!("the states differ: {place:?}")));
            }
            if our.private != their.private {
                let text = format!(
                    "private data differs: isthmus has {:?}, OpenTofu has {:?}",
                    String::from_utf8_lossy(&our.private),
                    String::from_utf8_lossy(&their.private)
                );
                report.fail(self.told(resource, step, &text));
            }
            if our.schema_version != their.schema_version || our.is_tainted != their.is_tainted {
                let text = format!("data about the state differs: {our:?}, {their:?}");
                report.fail(self.told(resource, step, &text));
            }
        }
        assert!(theirs.is_empty(), "OpenTofu has more: {theirs:?}");
        assert!(records.is_empty(), "the state store has more: {records:?}");
    }

    fn compare_objects(&self, report: &mut Report) {
        let (ours, theirs) = self.objects();
        for (path, our) in &ours {
            let their = theirs.get(path);
            // OpenTofu deletes a tainted object without its private data.
            let mut told = our.clone();
            if let (Some(private), Some(Json::Null)) =
                (told.get_mut("private"), their.and_then(|their| their.get("private")))
            {
                *private = Json::Null;
            }
            if Some(&told) != their {
                report.fail(format!(
                    "seed {}: object {path} is {our} to isthmus, {their:?} to OpenTofu",
                    self.seed
                ));
            }
        }
        for path in theirs.keys().filter(|path| !ours.contains_key(*path)) {
            report.fail(format!("seed {}: only OpenTofu has the object {path}", self.seed));
        }
    }

    fn compare_requests(
        &mut self,
        steps: &[Step],
        decisions: &[Decision],
        removed_astray: &[usize],
        report: &mut Report,
    ) {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for provider in Provider::ALL {
            let about = self.about_providers.entry(provider).or_default();
            for (records, resources, about) in [
                (&mut self.our_records, &mut ours, &mut about.0),
                (&mut self.their_records, &mut theirs, &mut about.1),
            ] {
                let record = records.get_mut(&provider).expect("there is one of each");
                for request in record.added(&self.schemas[&provider]) {
                    match request.method {
                        "ConfigureProvider" | "ValidateProviderConfig" => about.push(request),
                        _ if request.type_name.is_empty() => {}
                        _ => resources.push(request),
                    }
                }
            }
        }
        let (ours, theirs) = (self.by_resource(ours), self.by_resource(theirs));
        for (index, resource) in self.resources.iter().enumerate() {
            let of =
                |requests: &BTreeMap<usize, Vec<Request>>| requests.get(&index).cloned().unwrap_or_default();
            let (ours, theirs) = (of(&ours), of(&theirs));
            if resource.is_astray || removed_astray.contains(&index) {
                continue;
            }
            report.requests(ours.len(), theirs.len());
            let asked = self.asked.entry(resource.kind.type_name).or_default();
            let service = self.setting.service;
            for difference in differences(service, decisions[index], &steps[index], asked, &ours, &theirs) {
                if !report.tally.covers(&difference) {
                    let text = format!(
                        "{}\n  isthmus: {}\n  OpenTofu: {}",
                        tell(&difference),
                        calls(&ours),
                        calls(&theirs)
                    );
                    report.fail(self.told(resource, &steps[index], &text));
                }
            }
        }
        for (index, requests) in ours {
            let asked = self.asked.entry(self.resources[index].kind.type_name).or_default();
            let remembered = requests.iter().filter(|request| request.is_remembered());
            asked.extend(remembered.map(Request::announcing_less));
        }
    }

    /// What a provider is asked about itself is asked once by us and by each process of OpenTofu's.
    fn compare_configurations(&self, report: &mut Report) {
        let step = Step::NONE;
        for (provider, (ours, theirs)) in &self.about_providers {
            // OpenTofu does not start those that it has nothing of.
            if !self.resources.iter().any(|resource| resource.kind.provider == *provider) {
                continue;
            }
            report.configurations += 1;
            let service = self.setting.service;
            for difference in differences(service, Decision::Nothing, &step, &[], ours, theirs) {
                if !report.tally.covers(&difference) {
                    report.fail(format!("{} of seed {}: {}", provider.name(), self.seed, tell(&difference)));
                }
            }
        }
    }

    /// Which resource each request is about.
    fn by_resource(&self, requests: Vec<Request>) -> BTreeMap<usize, Vec<Request>> {
        let mut sorted = BTreeMap::<usize, Vec<Request>>::new();
        for request in requests {
            let text = request.fields.to_string();
            let mut of_type = self
                .resources
                .iter()
                .enumerate()
                .filter(|(_, resource)| resource.kind.type_name == request.type_name);
            let only = of_type.clone().next().filter(|_| of_type.clone().count() == 1);
            let found = only
                .or_else(|| of_type.clone().find(|(_, resource)| text.contains(&resource.marker)))
                .or_else(|| of_type.find(|(_, resource)| resource.ids.iter().any(|id| text.contains(id))));
            let Some((index, _)) = found else { panic!("nobody knows what this is about: {request:?}") };
            sorted.entry(index).or_default().push(request);
        }
        sorted
    }

    fn objects(&self) -> (BTreeMap<String, Json>, BTreeMap<String, Json>) {
        let of = |side: &str| {
            let root = self.directory.join(side).join("objects");
            let files = files_below(&root).into_iter().map(|path| {
                let text = std::fs::read_to_string(&path).expect("an object can be read");
                let name = path.strip_prefix(&root).expect("it is below").to_string_lossy().into_owned();
                (name, serde_json::from_str(&text).expect("an object is JSON"))
            });
            files.collect()
        };
        (of("isthmus"), of("opentofu"))
    }

    /// A failure with all that is needed to find out about it.
    fn told(&self, resource: &Resource, step: &Step, what: &str) -> String {
        let inputs = resource
            .wish
            .as_ref()
            .map(|_| json_of(&pulumi_inputs(&resource.program, &resource.shape.object)));
        format!(
            "{} {} in round {} of seed {}, {:?}\n  step: {step:?}\n  {what}\n  Pulumi: {}\n  OpenTofu: {}\n{}",
            resource.kind.type_name,
            resource.marker,
            self.rounds,
            self.seed,
            self.setting,
            inputs.unwrap_or_default(),
            self.tofu.program_of(resource.kind.type_name, &resource.named.name),
            self.daemons[&resource.kind.provider].last_messages(),
        )
    }
}

impl Resource {
    /// Its address in OpenTofu's project.
    fn address(&self) -> String {
        format!("{}.{}", self.kind.type_name, self.named.name)
    }

    /// Whether an output of another resource chooses among its arguments.
    fn is_chosen(&self) -> bool {
        self.wish.is_some() && known(&self.program) != self.program
    }

    /// What that resource is made of. OpenTofu cannot delete it together with an object that depends on it and is replaced, so
    /// it stays until the end.
    fn turn(&self) -> Option<usize> {
        (self.is_chosen() || self.made.is_some()).then_some(self.turns)
    }

    /// Whether it is there and can be imported. Of a sensitive value that an import did not read, isthmus takes the program's
    /// for the object's, and warns of it; so these objects have all of theirs. Of a value without a type, isthmus takes the type
    /// of the object's where it is the same; to OpenTofu the list of a program is no tuple that was read.
    fn can_be_imported(&self, wish: &Members) -> bool {
        let mut untyped =
            self.shape.object.fields.iter().filter(|field| matches!(field.shape, Shape::Dynamic));
        self.imports
            && !untyped.any(|field| wish.get(&*field.terraform).is_some_and(Wish::has_list))
            && self.stored.is_some()
            && !self.is_half_made
            && has_all_sensitive(&self.shape.object, wish)
    }

    /// Draws what happens next, and how the program says it.
    fn draw(&mut self, refresh: bool) -> Step {
        let edit = self.draw_edit(refresh);
        let step = Step { trouble: self.draw_trouble(&edit), ..edit };
        let Some(wish) = &self.wish else { return step };
        let is_as_before = matches!(step.edit, Edit::None | Edit::Import);
        if !is_as_before || self.lottery.percent(20) {
            let wishes = Wishes { kind: self.kind, shape: &self.shape, marker: &self.marker };
            self.program = if self.lottery.percent(50) {
                wishes.veil(wish, &choice(&self.named.name), &mut self.lottery)
            } else {
                wish.clone()
            };
        }
        self.turns += usize::from(self.lottery.percent(60));
        Step { unknown: self.is_chosen() && self.made != Some(self.turns), ..step }
    }

    /// Draws what goes wrong when the step is carried out.
    fn draw_trouble(&mut self, step: &Step) -> Option<(&'static str, &'static str)> {
        let operation = match (&self.stored, &self.wish) {
            (None, _) => "create",
            (Some(_), Some(_)) => "update",
            (Some(_), None) => "delete",
        };
        let (_, troubles) = self.kind.troubles.iter().find(|(name, _)| *name == operation)?;
        let happens = step.edit != Edit::None && self.lottery.percent(25);
        happens.then(|| (operation, *self.lottery.pick(troubles)))
    }

    /// The name of the object that a step is about.
    fn name(&self) -> Option<String> {
        match (&self.wish, &self.stored) {
            (Some(_), _) => match known(&self.program).get("name")? {
                Wish::Text(name) => Some(name.clone()),
                _ => None,
            },
            (None, Some(stored)) => stored.outputs.get("name")?.as_str().map(str::to_owned),
            (None, None) => None,
        }
    }

    fn draw_edit(&mut self, refresh: bool) -> Step {
        let wishes = Wishes { kind: self.kind, shape: &self.shape, marker: &self.marker };
        let can_be_imported = self.wish.as_ref().is_some_and(|wish| self.can_be_imported(wish));
        if self.is_astray {
            self.wish = None;
            return Step { edit: Edit::Remove, refresh, ..Step::NONE };
        }
        let lottery = &mut self.lottery;
        let nothing = Step { refresh, ..Step::NONE };
        let Some(wish) = &self.wish else {
            if lottery.percent(20) {
                return nothing;
            }
            self.wish = Some(wishes.first_wish(lottery));
            return Step { edit: Edit::Wish, ..nothing };
        };
        let mut step = nothing;
        match lottery.below(100) {
            0..30 => {}
            30..78 => {
                step.edit = Edit::Wish;
                self.wish = Some(wishes.change(wish, lottery));
            }
            78..84 => {
                step.edit = Edit::Wish;
                let mut new = wishes.new_wish(lottery);
                if self.kind.timeouts == Timeouts::Once {
                    new.remove("timeouts");
                    new.extend(
                        wish.get_key_value("timeouts").map(|(name, value)| (name.clone(), value.clone())),
                    );
                }
                self.wish = Some(new);
            }
            84..92 if can_be_imported => {
                step.edit = Edit::Import;
                if lottery.percent(30) {
                    step.edit = Edit::ImportOther;
                    self.wish = Some(wishes.change(wish, lottery));
                }
            }
            _ => {
                step.edit = Edit::Remove;
                self.wish = None;
            }
        }
        if (refresh || step.imports()) && !self.kind.drift.is_empty() && lottery.percent(40) {
            if !step.imports() && lottery.percent(15) {
                step.outside = Outside::Vanish;
            } else {
                let drift: Vec<_> = self
                    .kind
                    .drift
                    .iter()
                    .filter(|(place, _)| !step.imports() || !SECRETS.contains(place))
                    .collect();
                let (pointer, values) = **lottery.pick(&drift);
                let text = lottery.pick::<&str>(values).replace("MARKER", &self.marker);
                let value = serde_json::from_str(&text).expect("it is written as JSON");
                step.outside = Outside::Drift(pointer, value);
            }
        }
        step
    }

    /// What an engine does before it changes anything, and what it shows of what is to be.
    async fn preview(
        &mut self,
        isthmus: &Isthmus,
        step: &Step,
        import: Option<&str>,
    ) -> Result<(Decision, Option<Struct>), String> {
        let daemon = match isthmus {
            Isthmus::Pulumirpc(daemon) => daemon,
            Isthmus::Lumirpc(_) => {
                let decision = self.decide(isthmus, step.unknown).await?;
                if decision == Decision::Create {
                    self.inputs(isthmus, None, step.unknown).await?;
                }
                return Ok((decision, None));
            }
        };
        if let Some(id) = import {
            self.stored = daemon.import(&self.named, id).await?;
            if self.stored.is_none() {
                return Err(format!("there is nothing to import by {id}"));
            }
        } else if step.refresh
            && let Some(stored) = &self.stored
        {
            self.stored = daemon.refresh(&self.named, stored).await?;
            self.is_half_deleted = false;
        }
        let decision = self.decide(isthmus, step.unknown).await?;
        let shown = match (decision, &self.stored) {
            (Decision::Create | Decision::ReplaceCreatingFirst | Decision::ReplaceDeletingFirst, _) => {
                let inputs = self.inputs(isthmus, None, step.unknown).await?;
                daemon.create(&self.named, &inputs, true).await
            }
            (Decision::Update, Some(stored)) => {
                let inputs = self.inputs(isthmus, Some(stored), step.unknown).await?;
                daemon.update(&self.named, stored, &inputs, true).await
            }
            _ => return Ok((decision, None)),
        };
        let shown = shown.map_err(|failure| failure.reason)?;
        Ok((decision, Some(shown.outputs)))
    }

    /// What an engine does when it changes things. It decides anew, and must come to the same end. Of what has failed it
    /// keeps what is there.
    async fn apply(&mut self, isthmus: &Isthmus, step: &Step, decision: Decision) -> Result<(), String> {
        let decision = match isthmus {
            Isthmus::Pulumirpc(_) => self.decide_after_preview(isthmus, step, decision).await?,
            // Its deployment has decided.
            Isthmus::Lumirpc(_) => decision,
        };
        let was_half_made = std::mem::take(&mut self.is_half_made);
        match (decision, self.stored.clone()) {
            (Decision::Nothing, Some(stored)) => {
                if matches!(isthmus, Isthmus::Lumirpc(_)) {
                    self.is_half_made = was_half_made;
                    return Ok(());
                }
                let inputs = self.inputs(isthmus, Some(&stored), false).await?;
                if was_half_made {
                    let updated = isthmus.update(&self.named, &stored, &inputs).await;
                    return self.keep(updated);
                }
                self.stored = Some(Stored { inputs, ..stored });
            }
            (Decision::Nothing, None) => {}
            (Decision::Create, _) => {
                let inputs = self.inputs(isthmus, None, false).await?;
                let created = isthmus.create(&self.named, &inputs).await;
                return self.keep(created);
            }
            (Decision::Update, Some(stored)) => {
                let inputs = self.inputs(isthmus, Some(&stored), false).await?;
                let updated = isthmus.update(&self.named, &stored, &inputs).await;
                return self.keep(updated);
            }
            (Decision::ReplaceCreatingFirst, Some(stored)) => {
                let inputs = self.inputs(isthmus, None, false).await?;
                let created = isthmus.create(&self.named, &inputs).await;
                self.keep(created)?;
                self.replaced = Some(stored);
            }
            (Decision::ReplaceDeletingFirst, Some(stored)) => {
                isthmus.delete(&self.named, &stored).await?;
                self.stored = None;
                let inputs = self.inputs(isthmus, None, false).await?;
                let created = isthmus.create(&self.named, &inputs).await;
                return self.keep(created);
            }
            (Decision::Delete, Some(stored)) => {
                let deleted = isthmus.delete(&self.named, &stored).await;
                self.is_half_deleted = deleted.is_err();
                deleted?;
                self.stored = None;
            }
            (decision, None) => return Err(format!("{decision} of what is not there")),
        }
        Ok(())
    }

    /// What today's engine decides when it changes things.
    async fn decide_after_preview(
        &mut self,
        isthmus: &Isthmus,
        step: &Step,
        decision: Decision,
    ) -> Result<Decision, String> {
        let now = self.decide(isthmus, false).await?;
        match (decision, now) {
            // It has turned out that what was unknown is what was there.
            (Decision::Update, Decision::Nothing) if step.unknown => Ok(now),
            // The same; OpenTofu replaces all the same, and so does an engine that is told to.
            (
                Decision::ReplaceCreatingFirst | Decision::ReplaceDeletingFirst,
                Decision::Update | Decision::Nothing,
            ) if step.unknown => Ok(decision),
            _ if now == decision => Ok(now),
            _ => {
                self.has_turned = true;
                Err(format!("it was decided: {decision}; after the preview it is: {now}"))
            }
        }
    }

    /// Deletes the object that a replacement has created another for.
    async fn delete_replaced(&mut self, isthmus: &Isthmus) -> Result<(), String> {
        match self.replaced.take() {
            Some(replaced) => isthmus.delete(&self.named, &replaced).await,
            None => Ok(()),
        }
    }

    /// Stores what a change has made.
    fn keep(&mut self, made: Result<Stored, Failure>) -> Result<(), String> {
        match made {
            Ok(stored) => {
                self.stored = Some(stored);
                self.is_half_deleted = false;
                Ok(())
            }
            Err(Failure { reason, half_made }) => {
                if half_made.is_some() {
                    self.stored = half_made;
                    self.is_half_made = true;
                }
                Err(reason)
            }
        }
    }

    async fn decide(&mut self, isthmus: &Isthmus, unknown: bool) -> Result<Decision, String> {
        let stored = match (&self.stored, &self.wish) {
            (None, None) => return Ok(Decision::Nothing),
            (Some(_), None) => return Ok(Decision::Delete),
            (None, Some(_)) => return Ok(Decision::Create),
            (Some(stored), Some(_)) => stored,
        };
        let inputs = self.inputs(isthmus, Some(stored), unknown).await?;
        let (decision, difference) = isthmus.decide(&self.named, stored, &inputs).await?;
        self.difference = difference;
        Ok(decision)
    }

    async fn inputs(
        &self,
        isthmus: &Isthmus,
        stored: Option<&Stored>,
        unknown: bool,
    ) -> Result<Struct, String> {
        let wish = &self.program;
        let inputs = pulumi_inputs(&if unknown { wish.clone() } else { known(wish) }, &self.shape.object);
        isthmus.check(&self.named, stored, &inputs).await
    }
}

/// Whether a program has all sensitive values that there can be, at any depth.
fn has_all_sensitive(object: &ObjectShape, members: &Members) -> bool {
    let mut fields =
        object.fields.iter().filter(|field| !field.write_only && (field.optional || field.required));
    fields.all(|field| match members.get(&*field.terraform) {
        Some(wish) => field.sensitive || holds_all_sensitive(&field.shape, wish),
        None => !field.sensitive && !can_be_sensitive(&field.shape),
    })
}

fn holds_all_sensitive(shape: &Shape, wish: &Wish) -> bool {
    match (shape, wish) {
        (Shape::Object(object), Wish::Members(members)) => has_all_sensitive(object, members),
        (Shape::Map(element), Wish::Members(members)) => {
            members.values().all(|wish| holds_all_sensitive(element, wish))
        }
        (
            Shape::List(element)
            | Shape::Set(element)
            | Shape::FlattenedList(element)
            | Shape::FlattenedSet(element),
            Wish::List(items),
        ) => items.iter().all(|wish| holds_all_sensitive(element, wish)),
        _ => true,
    }
}

/// Whether an object of this shape has sensitive values.
fn can_be_sensitive(shape: &Shape) -> bool {
    match shape {
        Shape::Object(object) => object
            .fields
            .iter()
            .any(|field| field.sensitive && !field.write_only || can_be_sensitive(&field.shape)),
        _ => false,
    }
}

/// The state in what today's engine stores.
fn state_in(stored: &Stored, shape: &ResourceShape) -> InState {
    let (attributes, source) =
        stored_raw_state(&stored.outputs, shape).expect("the stored state can be read");
    assert!(matches!(source, RawStateSource::Delta), "{source:?}");
    let meta = Meta::from_properties(&stored.outputs).expect("the stored state has good data");
    InState {
        attributes,
        schema_version: meta.schema_version,
        private: meta.private.to_vec(),
        is_tainted: meta.tainted,
    }
}

/// Whether OpenTofu has failed only for values that a plan left as they were, which were null. Isthmus warns of that: it may be
/// what the server has set since, because an engine does not read an object before it plans.
fn is_lenient_about(errors: &[String]) -> bool {
    errors.iter().all(|error| {
        error.contains("Provider produced inconsistent result after apply")
            && error.contains(": was null, but now ")
    })
}

/// All requests in short.
fn calls(requests: &[Request]) -> String {
    let short = |request: &Request| {
        let (method, before, after) = request.role();
        format!(
            "{method}{}{}",
            if before { "" } else { " of something" },
            if after { " to nothing" } else { "" }
        )
    };
    requests.iter().map(short).collect::<Vec<_>>().join(", ")
}

fn tell(difference: &Difference) -> String {
    let request = |request: &Option<Request>| {
        request.as_ref().map_or_else(|| "none".to_owned(), |request| request.fields.to_string())
    };
    format!(
        "{} ({}): {:?}\n  our request: {}\n  OpenTofu's: {}",
        difference.method,
        difference.decision,
        difference.what,
        request(&difference.ours),
        request(&difference.theirs)
    )
}

/// The file of an object. Ids are unique in these tests.
fn object_file(root: &Path, id: &str) -> Option<PathBuf> {
    let end = format!("{id}.json");
    files_below(root).into_iter().find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name == end || name.ends_with(&format!(".{end}"))
    })
}

fn files_below(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root).into_iter().flatten() {
        let path = entry.expect("a directory of ours can be read").path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}
