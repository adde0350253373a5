//! A project of many resources on one side, and the same resources of an engine on the other, taken through steps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use isthmus_cty::json;
use isthmus_package::shape::ResourceShape;
use isthmus_proto::pulumirpc::diff_response::DiffChanges;
use isthmus_sandbox::Protocol;
use isthmus_test_engine::json_of;
use isthmus_translate::meta::Meta;
use isthmus_translate::raw_state::{RawStateSource, stored_raw_state};
use serde_json::Value as Json;

use crate::compare::{Difference, differences, places};
use crate::daemon::{Daemon, Failure, Named, Options, Stored};
use crate::kinds::{CONFIGURATION, KINDS, Kind, Provider, Timeouts};
use crate::lottery::Lottery;
use crate::providers::{Schemas, Setting};
use crate::report::Report;
use crate::requests::{Record, Request, shown};
use crate::steps::{Decision, Edit, Outside, Step};
use crate::tofu::{Configured, Tofu};
use crate::wish::{Members, Wishes, pulumi_inputs, tofu_json};

/// How many resources of a kind there are, unless there can only be one.
const OF_A_KIND: usize = 2;

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
    daemons: BTreeMap<Provider, Daemon>,
    resources: Vec<Resource>,
    our_records: BTreeMap<Provider, Record>,
    their_records: BTreeMap<Provider, Record>,
    /// What the providers were asked about themselves: by us, and by OpenTofu.
    about_providers: BTreeMap<Provider, (Vec<Request>, Vec<Request>)>,
    /// Our requests about resources in the rounds before.
    asked: Vec<Request>,
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
    /// What the program says; nothing when it does not have the resource.
    wish: Option<Members>,
    /// What the engine stores.
    stored: Option<Stored>,
    /// Whether the last change has failed, so that the engine sends an update even where nothing differs.
    is_half_made: bool,
    /// All ids that it has had.
    ids: Vec<String>,
}

impl World {
    /// Starts both sides, with nothing in them.
    pub(crate) async fn new(seed: u64, directory: &Path) -> Self {
        let setting = Setting::of(seed);
        let schemas = Schemas::of_all(setting, &[]).await;
        let mut lottery = Lottery::new(seed);
        let (ours, theirs) = (directory.join("isthmus"), directory.join("opentofu"));
        let mut tofu = Tofu::new(setting, &theirs);
        let mut daemons = BTreeMap::new();
        for provider in Provider::ALL {
            let shape = schemas[&provider].configuration();
            let wishes = Wishes { kind: &CONFIGURATION, shape: &shape, marker: "" };
            let wish = wishes.new_wish(&mut lottery.split());
            tofu.configure(provider, tofu_json(&wish, &shape.object));
            let configuration = pulumi_inputs(&wish, &shape.object);
            daemons.insert(provider, Daemon::start(provider, setting, configuration, &ours).await);
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
            for _ in 0..if kind.alone { 1 } else { OF_A_KIND } {
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
                    stored: None,
                    is_half_made: false,
                    ids,
                });
            }
        }
        let (our_records, their_records) = (records(&ours), records(&theirs));
        Self {
            seed,
            setting,
            schemas,
            directory: directory.to_owned(),
            tofu,
            daemons,
            resources,
            our_records,
            their_records,
            about_providers: BTreeMap::new(),
            asked: Vec::new(),
            lottery,
            rounds: 0,
        }
    }

    /// How many steps a round is.
    pub(crate) fn size(&self) -> usize {
        self.resources.len()
    }

    /// Takes every resource one step further.
    pub(crate) async fn round(&mut self, report: &mut Report) {
        let refresh = self.rounds > 0 && self.lottery.percent(40);
        let steps: Vec<Step> = self.resources.iter_mut().map(|resource| resource.draw(refresh)).collect();
        self.step(&steps, report).await;
    }

    /// Removes everything.
    pub(crate) async fn end(&mut self, report: &mut Report) {
        for resource in &mut self.resources {
            resource.wish = None;
        }
        let step = Step { edit: Edit::Remove, outside: Outside::Nothing, refresh: false };
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

        let mut decisions = Vec::new();
        for (index, (step, id)) in steps.iter().zip(&ids).enumerate() {
            let resource = &mut self.resources[index];
            let daemon = &self.daemons[&resource.kind.provider];
            match resource.preview(daemon, step, id.as_deref()).await {
                Ok(decision) => decisions.push(decision),
                Err(error) => {
                    let text = format!("isthmus, in the preview: {error}");
                    report.fail(self.told(&self.resources[index], step, &text));
                }
            }
        }
        if report.has_failed() {
            return;
        }
        let theirs = self.tofu_plan(steps, &ids, &decisions);
        for ((resource, step), decision) in self.resources.iter().zip(steps).zip(&decisions) {
            let their = theirs.get(&resource.named.name).copied().unwrap_or(Decision::Nothing);
            report.count(resource.kind.type_name, *decision, step);
            if their != *decision {
                let text = format!("isthmus decides: {decision}; OpenTofu decides: {their}");
                report.fail(self.told(resource, step, &text));
            }
        }
        let mut failed = self.tofu.apply();
        for (index, (step, decision)) in steps.iter().zip(&decisions).enumerate() {
            let resource = &mut self.resources[index];
            let daemon = &self.daemons[&resource.kind.provider];
            let applied = resource.apply(daemon, *decision).await;
            let their = failed.remove(&resource.named.name);
            report.failures_of_providers += usize::from(their.is_some());
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
        self.compare_states(steps, report);
        self.compare_objects(report);
        self.compare_requests(steps, &decisions, report);
    }

    fn tofu_plan(
        &self,
        steps: &[Step],
        ids: &[Option<String>],
        decisions: &[Decision],
    ) -> BTreeMap<String, Decision> {
        let mut configured = Vec::new();
        for (((resource, id), decision), step) in self.resources.iter().zip(ids).zip(decisions).zip(steps) {
            if step.imports() {
                self.tofu.forget(&resource.named.name);
            }
            if let Some(wish) = &resource.wish {
                configured.push(Configured {
                    type_name: resource.kind.type_name,
                    name: resource.named.name.clone(),
                    body: tofu_json(wish, &resource.shape.object),
                    create_first: *decision != Decision::ReplaceDeletingFirst,
                    import: id.clone(),
                });
            }
        }
        self.tofu.write(&configured);
        self.tofu.plan(steps.iter().any(|step| step.refresh))
    }

    /// Does to the objects of both sides what somebody else did.
    fn edit_objects(&self, steps: &[Step]) {
        for (resource, step) in self.resources.iter().zip(steps) {
            let Some(stored) = &resource.stored else { continue };
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

    fn compare_states(&self, steps: &[Step], report: &mut Report) {
        let mut theirs = self.tofu.state();
        for (resource, step) in self.resources.iter().zip(steps) {
            let their = theirs.remove(&resource.named.name);
            let (Some(stored), Some(their)) = (&resource.stored, &their) else {
                if resource.stored.is_some() || their.is_some() {
                    let text = format!("isthmus has {:?}, OpenTofu has {their:?}", resource.stored);
                    report.fail(self.told(resource, step, &text));
                }
                continue;
            };
            let own = &resource.shape.schema.block.implied_type;
            let their_value = json::from_tree(&their.attributes, own).expect("OpenTofu's state conforms");
            let (raw, source) =
                stored_raw_state(&stored.outputs, &resource.shape).expect("the stored state can be read");
            assert!(matches!(source, RawStateSource::Delta), "{source:?}");
            let our_value = json::from_tree(&raw, own).expect("our state conforms");
            for place in places(&shown(&our_value), &shown(&their_value)) {
                report.fail(self.told(resource, step, &format!("the states differ: {place:?}")));
            }
            let meta = Meta::from_properties(&stored.outputs).expect("the stored state has good data");
            if meta.private != their.private {
                let text = format!(
                    "private data differs: isthmus has {:?}, OpenTofu has {:?}",
                    String::from_utf8_lossy(&meta.private),
                    String::from_utf8_lossy(&their.private)
                );
                report.fail(self.told(resource, step, &text));
            }
            if meta.schema_version != their.schema_version || meta.tainted != their.is_tainted {
                report.fail(self.told(
                    resource,
                    step,
                    &format!("data about the state differs: {meta:?}, {their:?}"),
                ));
            }
        }
        assert!(theirs.is_empty(), "OpenTofu has more: {theirs:?}");
    }

    fn compare_objects(&self, report: &mut Report) {
        let (ours, theirs) = self.objects();
        for (path, our) in &ours {
            let their = theirs.get(path);
            if Some(our) != their {
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

    fn compare_requests(&mut self, steps: &[Step], decisions: &[Decision], report: &mut Report) {
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
            report.requests(ours.len(), theirs.len());
            for difference in differences(decisions[index], &steps[index], &self.asked, &ours, &theirs) {
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
        self.asked.extend(ours.into_values().flatten());
    }

    /// What a provider is asked about itself is asked once by us and by each process of OpenTofu's.
    fn compare_configurations(&self, report: &mut Report) {
        let step = Step { edit: Edit::None, outside: Outside::Nothing, refresh: false };
        for (provider, (ours, theirs)) in &self.about_providers {
            // OpenTofu does not start those that it has nothing of.
            if !self.resources.iter().any(|resource| resource.kind.provider == *provider) {
                continue;
            }
            report.configurations += 1;
            for difference in differences(Decision::Nothing, &step, &[], ours, theirs) {
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
        let inputs = resource.wish.as_ref().map(|wish| json_of(&pulumi_inputs(wish, &resource.shape.object)));
        format!(
            "{} {} in round {} of seed {}, {:?}\n  step: {step:?}\n  {what}\n  Pulumi: {}\n  OpenTofu: {}\n{}",
            resource.kind.type_name,
            resource.marker,
            self.rounds,
            self.seed,
            self.setting,
            inputs.unwrap_or_default(),
            self.tofu.program_of(resource.kind.type_name, &resource.named.name),
            self.daemons[&resource.kind.provider].last_words(),
        )
    }
}

impl Resource {
    /// Draws what happens next.
    fn draw(&mut self, refresh: bool) -> Step {
        let wishes = Wishes { kind: self.kind, shape: &self.shape, marker: &self.marker };
        let lottery = &mut self.lottery;
        let nothing = Step { edit: Edit::None, outside: Outside::Nothing, refresh };
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
            84..92 if self.kind.imports && self.stored.is_some() && !self.is_half_made => {
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
                let (pointer, values) = *lottery.pick(self.kind.drift);
                let text = lottery.pick::<&str>(values).replace("MARKER", &self.marker);
                let value = serde_json::from_str(&text).expect("it is written as JSON");
                step.outside = Outside::Drift(pointer, value);
            }
        }
        step
    }

    /// What an engine does before it changes anything.
    async fn preview(
        &mut self,
        daemon: &Daemon,
        step: &Step,
        import: Option<&str>,
    ) -> Result<Decision, String> {
        if let Some(id) = import {
            self.stored = daemon.import(&self.named, id).await?;
            if self.stored.is_none() {
                return Err(format!("there is nothing to import by {id}"));
            }
        } else if step.refresh
            && let Some(stored) = &self.stored
        {
            self.stored = daemon.refresh(&self.named, stored).await?;
        }
        let decision = self.decide(daemon).await?;
        match (decision, &self.stored) {
            (Decision::Create | Decision::ReplaceCreatingFirst | Decision::ReplaceDeletingFirst, _) => {
                let inputs = self.inputs(daemon, None).await?;
                daemon.create(&self.named, &inputs, true).await.map_err(|failure| failure.reason)?;
            }
            (Decision::Update, Some(stored)) => {
                let inputs = self.inputs(daemon, Some(stored)).await?;
                daemon.update(&self.named, stored, &inputs, true).await.map_err(|failure| failure.reason)?;
            }
            _ => {}
        }
        Ok(decision)
    }

    /// What an engine does when it changes things. It decides anew, and must come to the same end. Of what has failed it
    /// keeps what is there.
    async fn apply(&mut self, daemon: &Daemon, decision: Decision) -> Result<(), String> {
        let now = self.decide(daemon).await?;
        if now != decision {
            return Err(format!("it was decided: {decision}; after the preview it is: {now}"));
        }
        let was_half_made = std::mem::take(&mut self.is_half_made);
        match (decision, self.stored.clone()) {
            (Decision::Nothing, Some(stored)) => {
                let inputs = self.inputs(daemon, Some(&stored)).await?;
                if was_half_made {
                    let updated = daemon.update(&self.named, &stored, &inputs, false).await;
                    return self.keep(updated);
                }
                self.stored = Some(Stored { inputs, ..stored });
            }
            (Decision::Nothing, None) => {}
            (Decision::Create, _) => {
                let inputs = self.inputs(daemon, None).await?;
                let created = daemon.create(&self.named, &inputs, false).await;
                return self.keep(created);
            }
            (Decision::Update, Some(stored)) => {
                let inputs = self.inputs(daemon, Some(&stored)).await?;
                let updated = daemon.update(&self.named, &stored, &inputs, false).await;
                return self.keep(updated);
            }
            (Decision::ReplaceCreatingFirst, Some(stored)) => {
                let inputs = self.inputs(daemon, None).await?;
                let created = daemon.create(&self.named, &inputs, false).await;
                self.keep(created)?;
                daemon.delete(&self.named, &stored).await?;
            }
            (Decision::ReplaceDeletingFirst, Some(stored)) => {
                daemon.delete(&self.named, &stored).await?;
                self.stored = None;
                let inputs = self.inputs(daemon, None).await?;
                let created = daemon.create(&self.named, &inputs, false).await;
                return self.keep(created);
            }
            (Decision::Delete, Some(stored)) => {
                daemon.delete(&self.named, &stored).await?;
                self.stored = None;
            }
            (decision, None) => return Err(format!("{decision} of what is not there")),
        }
        Ok(())
    }

    /// Stores what a change has made.
    fn keep(&mut self, made: Result<Stored, Failure>) -> Result<(), String> {
        match made {
            Ok(stored) => {
                self.stored = Some(stored);
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

    async fn decide(&self, daemon: &Daemon) -> Result<Decision, String> {
        let stored = match (&self.stored, &self.wish) {
            (None, None) => return Ok(Decision::Nothing),
            (Some(_), None) => return Ok(Decision::Delete),
            (None, Some(_)) => return Ok(Decision::Create),
            (Some(stored), Some(_)) => stored,
        };
        let inputs = self.inputs(daemon, Some(stored)).await?;
        let difference = daemon.diff(&self.named, stored, &inputs).await?;
        let replaces = !difference.replaces.is_empty();
        Ok(match (difference.changes(), replaces, difference.delete_before_replace) {
            (DiffChanges::DiffNone, ..) => Decision::Nothing,
            (_, false, _) => Decision::Update,
            (_, true, false) => Decision::ReplaceCreatingFirst,
            (_, true, true) => Decision::ReplaceDeletingFirst,
        })
    }

    async fn inputs(
        &self,
        daemon: &Daemon,
        stored: Option<&Stored>,
    ) -> Result<isthmus_proto::property::Struct, String> {
        let wish = self.wish.clone().unwrap_or_default();
        let inputs = pulumi_inputs(&wish, &self.shape.object);
        daemon.check(&self.named, stored.map(|stored| &stored.inputs), &inputs).await
    }
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
