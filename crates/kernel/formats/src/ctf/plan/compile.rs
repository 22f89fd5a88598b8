//! Compiles the field classes of the metadata into plans: a list of steps that reads only the fields that are needed.

use super::print::{Notation, Print};
use super::scopes::{Entry, Scopes, Selector};
use super::state::{KnownAlignment, Track};
use super::{
    Branch, ByteSpan, FIRST_HIDDEN, NO_SLOT, NumberPlan, Plan, PlanStep, Repetition, Slot, ValueForm,
    role_slot,
};
use crate::ctf::class::{
    ByteOrder, Choice, ChoiceOption, Class, ElementCount, FieldKind, FieldScope, IntegerClass, Range,
    Reference, array_bits, plain,
};
use std::collections::HashSet;
use std::sync::Arc;

/// The requested parts of a record.
#[derive(Clone, Copy, Debug)]
pub(in crate::ctf) struct FieldDecoder<'a> {
    /// Fields by name, without the leading underscore, and where they go.
    pub(in crate::ctf) named: &'a [(&'a str, Slot)],
    /// Whether all are printed.
    pub(in crate::ctf) printed: bool,
}

impl FieldDecoder<'_> {
    /// Only what the reader itself needs.
    pub(in crate::ctf) const NONE: FieldDecoder<'static> = FieldDecoder { named: &[], printed: false };

    fn slot(self, name: &str) -> Option<Slot> {
        self.named.iter().find(|(known, _)| *known == plain(name)).map(|&(_, slot)| slot)
    }
}

/// Works out the plans of one stream class, scope after scope. A clone goes on from where it was cloned.
#[derive(Clone, Debug)]
pub(in crate::ctf) struct Compiler<'a> {
    referenced: &'a HashSet<String>,
    scopes: Scopes,
    next_slot: Slot,
}

/// One scope on its way to a plan.
struct Work<'c, 'a> {
    compiler: &'c mut Compiler<'a>,
    fields: FieldDecoder<'c>,
    /// Numbers bound to the clock move it.
    clock: bool,
    /// Steps that may still be made.
    left: &'c mut usize,
}

impl<'a> Compiler<'a> {
    /// Before the first scope; `referenced` are the last names of all references.
    pub(in crate::ctf) fn new(referenced: &'a HashSet<String>) -> Compiler<'a> {
        Compiler { referenced, scopes: Scopes::default(), next_slot: FIRST_HIDDEN }
    }

    /// How many slots the plans use.
    pub(in crate::ctf) fn slots(&self) -> usize {
        usize::from(self.next_slot)
    }

    /// The plan of a scope. `left` counts down the steps of all plans together.
    ///
    /// # Errors
    /// When a reference means nothing, a class is incomplete, or there are too many steps or references.
    pub(in crate::ctf) fn scope(
        &mut self,
        scope: FieldScope,
        class: Option<&Class>,
        fields: FieldDecoder<'_>,
        fields_left: &mut usize,
    ) -> Result<Plan, String> {
        let Some(class) = class else { return Ok(Plan::default()) };
        self.scopes.begin(scope);
        let known =
            if scope == FieldScope::PacketHeader { KnownAlignment::ORIGIN } else { KnownAlignment::NOTHING };
        let mut track = Track::from(known);
        let mut work =
            Work { compiler: self, fields, clock: scope == FieldScope::EventHeader, left: fields_left };
        match class.kind() {
            // The scope's own structure is not printed as one.
            FieldKind::Struct(members) => {
                track.align_to(class.align());
                work.members("", members, &mut track)?;
            }
            _ => work.class("", None, class, &mut track)?,
        }
        self.scopes.end();
        Ok(track.finish())
    }

    fn hidden(&mut self) -> Result<Slot, String> {
        let slot = self.next_slot;
        if slot == NO_SLOT {
            return Err("too many lengths and selectors".to_owned());
        }
        self.next_slot += 1;
        Ok(slot)
    }
}

impl Work<'_, '_> {
    /// `label` is what is printed before the value: nothing inside arrays.
    fn class(
        &mut self,
        name: &str,
        label: Option<&Arc<str>>,
        class: &Class,
        track: &mut Track,
    ) -> Result<(), String> {
        *self.left = self.left.checked_sub(1).ok_or("more fields than are read")?;
        match class.kind() {
            FieldKind::Integer(integer) => {
                track.align_to(class.align());
                self.integer(name, label, integer, track)
            }
            FieldKind::Float { bits, order } => {
                track.align_to(class.align());
                self.float(label, *bits, *order, track)
            }
            FieldKind::Text => {
                track.align_to(class.align());
                let slot = self.text_slot(name)?;
                track.push(PlanStep::Text { slot });
                track.lost(true);
                self.print_text(label, slot, track);
                Ok(())
            }
            FieldKind::Struct(members) => {
                track.align_to(class.align());
                self.open(label, track);
                self.members(name, members, track)?;
                self.close(track);
                Ok(())
            }
            FieldKind::Variant { selector, choices } => {
                let selector =
                    selector.as_ref().ok_or_else(|| format!("the variant `{name}` has no selector"))?;
                self.variant(name, label, selector, choices, track)
            }
            FieldKind::Array { count, element } => {
                track.align_to(class.align());
                self.array(name, label, count, element, track)
            }
            FieldKind::Optional { selector, ranges, class } => {
                let selected = self.compiler.scopes.find(selector)?;
                let spans = match ranges {
                    Some(ranges) => spans(ranges, selected.signed),
                    None => [ByteSpan { first: 1, last: u64::MAX }].into(),
                };
                // Without ranges only 0 leaves it out, whatever the sign.
                let flip = if ranges.is_some() { flip(selected.signed) } else { 0 };
                let (plan, known) =
                    self.branch(track.known(), |work, track| work.class(name, label, class, track))?;
                let known = known.or(track.known());
                track.push(PlanStep::Select {
                    slot: selected.slot,
                    flip,
                    branches: [Branch { spans, plan }].into(),
                    otherwise: true,
                });
                track.set(known);
                Ok(())
            }
        }
    }

    fn members(&mut self, name: &str, members: &[ChoiceOption], track: &mut Track) -> Result<(), String> {
        self.compiler.scopes.open();
        for member in members {
            let label = self.fields.printed.then(|| Arc::from(plain(&member.name)));
            self.class(&member.name, label.as_ref(), &member.class, track)?;
        }
        self.compiler.scopes.close(name);
        Ok(())
    }

    /// Where a number goes: a role's slot, a requested slot, or one that others refer to.
    fn number_slot(&mut self, name: &str, integer: &IntegerClass) -> Result<Slot, String> {
        let referenced = self.compiler.referenced.contains(name);
        let slot = match (integer.role, self.fields.slot(name)) {
            (Some(role), _) => role_slot(role),
            (None, Some(slot)) => slot,
            (None, None) if referenced || self.fields.printed => self.compiler.hidden()?,
            (None, None) => NO_SLOT,
        };
        if referenced {
            let selector = Selector { slot, signed: integer.signed, mapping: integer.mapping.clone() };
            self.compiler.scopes.add(name, Entry::NumberPlan(selector));
        }
        Ok(slot)
    }

    fn text_slot(&mut self, name: &str) -> Result<Slot, String> {
        match self.fields.slot(name) {
            Some(slot) => Ok(slot),
            None if self.fields.printed => self.compiler.hidden(),
            None => Ok(NO_SLOT),
        }
    }

    fn integer(
        &mut self,
        name: &str,
        label: Option<&Arc<str>>,
        integer: &IntegerClass,
        track: &mut Track,
    ) -> Result<(), String> {
        if integer.bits > 64 {
            track.skip(u64::from(integer.bits));
            return Ok(());
        }
        let slot = self.number_slot(name, integer)?;
        let clock = self.clock && integer.role == Some(crate::ctf::class::FieldRole::CtfClock);
        if integer.bits == 0 {
            track.push(PlanStep::Leb { signed: integer.signed, clock, slot });
            track.lost(true);
        } else if slot == NO_SLOT && !clock {
            track.skip(u64::from(integer.bits));
        } else {
            let form = form(integer.bits, integer.order, track.at_byte());
            track.number(NumberPlan {
                ahead: 0,
                bits: integer.bits as u8,
                form,
                signed: integer.signed,
                clock,
                slot,
            });
        }
        if self.fields.printed && slot != NO_SLOT {
            let how = if integer.signed { Notation::Signed } else { Notation::Unsigned };
            track.push(PlanStep::Print(Print::NumberPlan { name: label.cloned(), slot, how }));
        }
        Ok(())
    }

    fn float(
        &mut self,
        label: Option<&Arc<str>>,
        bits: u32,
        order: ByteOrder,
        track: &mut Track,
    ) -> Result<(), String> {
        let how = match bits {
            32 => Notation::Single,
            64 => Notation::Double,
            _ => {
                track.skip(u64::from(bits));
                return Ok(());
            }
        };
        if !self.fields.printed {
            track.skip(u64::from(bits));
            return Ok(());
        }
        let slot = self.compiler.hidden()?;
        let form = form(bits, order, track.at_byte());
        track.number(NumberPlan { ahead: 0, bits: bits as u8, form, signed: false, clock: false, slot });
        track.push(PlanStep::Print(Print::NumberPlan { name: label.cloned(), slot, how }));
        Ok(())
    }

    fn array(
        &mut self,
        name: &str,
        label: Option<&Arc<str>>,
        count: &ElementCount,
        element: &Class,
        track: &mut Track,
    ) -> Result<(), String> {
        let times = match count {
            ElementCount::Fixed(count) => Repetition::Fixed(*count),
            ElementCount::Field(reference) => Repetition::Slot(self.compiler.scopes.find(reference)?.slot),
        };
        if element.is_character() {
            let slot = self.text_slot(name)?;
            match times {
                Repetition::Fixed(bytes) if slot == NO_SLOT => track.skip(bytes.saturating_mul(8)),
                Repetition::Fixed(bytes) => track.characters(bytes, slot),
                Repetition::Slot(_) => {
                    track.push(PlanStep::Characters { count: times, slot });
                    track.lost(true);
                }
            }
            self.print_text(label, slot, track);
            return Ok(());
        }
        if !self.fields.printed
            && let Some(bits) = element.fixed_bits()
        {
            match times {
                Repetition::Fixed(count) => track.skip(array_bits(count, element).unwrap_or(u64::MAX)),
                Repetition::Slot(count) => {
                    let stride = bits.next_multiple_of(u64::from(element.align()));
                    // Addresses of call stacks.
                    let (slot, order) = match element.kind() {
                        FieldKind::Integer(integer) if bits == 64 && element.align() >= 8 => {
                            (self.fields.slot(name).unwrap_or(NO_SLOT), integer.order)
                        }
                        _ => (NO_SLOT, ByteOrder::Little),
                    };
                    track.push(PlanStep::Elements { count, bits, stride, slot, order });
                    track.lost(element.align() >= 8 && bits.is_multiple_of(8));
                }
            }
            return Ok(());
        }
        self.open(label, track);
        let (body, _) =
            self.branch(KnownAlignment::NOTHING, |work, track| work.class("", None, element, track))?;
        track.push(PlanStep::Loop { count: times, body });
        track.lost(false);
        self.close(track);
        Ok(())
    }

    fn variant(
        &mut self,
        name: &str,
        label: Option<&Arc<str>>,
        selector: &Reference,
        choices: &[Choice],
        track: &mut Track,
    ) -> Result<(), String> {
        let selected = self.compiler.scopes.find(selector)?;
        let from = track.known();
        let mut to: Option<KnownAlignment> = None;
        let mut branches = Vec::with_capacity(choices.len());
        self.compiler.scopes.open();
        for choice in choices {
            let ranges = match (&choice.ranges, &selected.mapping) {
                (Some(ranges), _) => ranges.clone(),
                (None, Some(mapping)) => mapping.ranges(&choice.name),
                (None, None) => {
                    return Err(format!("the selector of the variant `{name}` is no enumeration"));
                }
            };
            let (plan, known) =
                self.branch(from, |work, track| work.class(&choice.name, label, &choice.class, track))?;
            to = Some(to.map_or(known, |to| to.or(known)));
            branches.push(Branch { spans: spans(&ranges, selected.signed), plan });
        }
        self.compiler.scopes.close(name);
        track.push(PlanStep::Select {
            slot: selected.slot,
            flip: flip(selected.signed),
            branches: branches.into(),
            otherwise: false,
        });
        track.set(to.unwrap_or(KnownAlignment::NOTHING));
        Ok(())
    }

    /// A plan of its own, with what is known where it ends.
    fn branch(
        &mut self,
        from: KnownAlignment,
        fill: impl FnOnce(&mut Self, &mut Track) -> Result<(), String>,
    ) -> Result<(Plan, KnownAlignment), String> {
        let mut track = Track::from(from);
        fill(self, &mut track)?;
        let known = track.known();
        Ok((track.finish(), known))
    }

    fn print_text(&self, label: Option<&Arc<str>>, slot: Slot, track: &mut Track) {
        if self.fields.printed && slot != NO_SLOT {
            track.push(PlanStep::Print(Print::Text { name: label.cloned(), slot }));
        }
    }

    fn open(&self, label: Option<&Arc<str>>, track: &mut Track) {
        if self.fields.printed {
            track.push(PlanStep::Print(Print::Open { name: label.cloned() }));
        }
    }

    fn close(&self, track: &mut Track) {
        if self.fields.printed {
            track.push(PlanStep::Print(Print::Close));
        }
    }
}

fn form(bits: u32, order: ByteOrder, at_byte: bool) -> ValueForm {
    match (order, bits) {
        (_, 8) if at_byte => ValueForm::Byte,
        (ByteOrder::Little, 16) if at_byte => ValueForm::Le2,
        (ByteOrder::Little, 32) if at_byte => ValueForm::Le4,
        (ByteOrder::Little, 64) if at_byte => ValueForm::Le8,
        (ByteOrder::Big, 16) if at_byte => ValueForm::Be2,
        (ByteOrder::Big, 32) if at_byte => ValueForm::Be4,
        (ByteOrder::Big, 64) if at_byte => ValueForm::Be8,
        (ByteOrder::Little, _) => ValueForm::BitsLe,
        (ByteOrder::Big, _) => ValueForm::BitsBe,
    }
}

/// Signed numbers compare as unsigned ones do when their sign bits are flipped.
fn flip(signed: bool) -> u64 {
    if signed { 1 << 63 } else { 0 }
}

fn spans(ranges: &[Range], signed: bool) -> Box<[ByteSpan]> {
    let (least, most) =
        if signed { (i128::from(i64::MIN), i128::from(i64::MAX)) } else { (0, i128::from(u64::MAX)) };
    let within =
        ranges.iter().filter(|range| range.first <= range.last && range.first <= most && range.last >= least);
    within
        .map(|range| ByteSpan {
            first: (range.first.max(least) as u64) ^ flip(signed),
            last: (range.last.min(most) as u64) ^ flip(signed),
        })
        .collect()
}
