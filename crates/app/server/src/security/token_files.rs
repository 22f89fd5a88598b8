//! Follows the files with tokens, and the list of tokens in the configuration.

use super::admission::Admission;
use crate::operations::{FileStamp, SettingSources, load};
use crate::settings::{CheckedToken, TokenList};
use std::path::PathBuf;
use std::sync::Arc;

/// The files that tokens come from.
pub(crate) struct TokenFiles {
    sources: SettingSources,
    list: TokenList,
    tokens: Vec<CheckedToken>,
    admission: Arc<Admission>,
}

impl TokenFiles {
    /// `sources` are those of the settings, `list` and `tokens` what was read of them at the start.
    pub(crate) fn new(
        sources: SettingSources,
        list: TokenList,
        tokens: &[CheckedToken],
        admission: Arc<Admission>,
    ) -> TokenFiles {
        TokenFiles { sources, list, tokens: tokens.to_vec(), admission }
    }

    /// The files as they are now.
    pub(crate) fn stamps(&self) -> Vec<FileStamp> {
        let files = self.list.tokens.iter().map(|token| &token.file);
        files.chain(&self.sources.file).map(|file: &PathBuf| FileStamp::read(file)).collect()
    }

    /// Reads all of them again; tokens that are no more stop working at once. Returns whether all could be used.
    pub(crate) fn reload(&mut self) -> bool {
        let mut usable = true;
        match self.read_list() {
            Ok(list) => self.list = list,
            Err(problem) => {
                tracing::error!(%problem, "the list of tokens cannot be read; the one from before is used");
                usable = false;
            }
        }
        let read = self.list.read_again(&self.tokens);
        for problem in &read.problems {
            tracing::error!(%problem, "a token cannot be read; it stays what it was");
            usable = false;
        }
        for name in &read.removed {
            tracing::warn!(%name, "the file of a token is gone; it is not valid any more");
        }
        if read.tokens != self.tokens {
            self.admission.replace_tokens(&read.tokens);
            self.tokens = read.tokens;
            tracing::info!(tokens = self.tokens.len(), "tokens were read again");
        }
        usable
    }

    /// The list of tokens in the configuration of now.
    fn read_list(&self) -> Result<TokenList, String> {
        if self.sources.file.is_none() {
            // Flags and the environment do not change.
            return Ok(self.list.clone());
        }
        let settings = load(&self.sources).map_err(|error| error.to_string())?;
        settings.check_tenants().map_err(|error| error.to_string())?;
        let list = settings.token_list();
        list.check().map_err(|error| error.to_string())?;
        Ok(list)
    }
}
